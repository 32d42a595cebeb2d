"""Rates, delays and energies of transfers: hand numbers, and the mean rate against its definition."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from dmafl.world.physics.transmission import mean_rayleigh_rate_bit_s, rate_bit_s, snr, transfer_J, transfer_s

ROUNDING = 1e-14
"""Relative: a handful of operations, each good to a unit in the last place."""

QUADRATURE = 1e-9
"""Relative: what `quad` reaches on a smooth integrand with a logarithm at one end, cut where its scales change."""


def test_snr_is_received_power_over_noise_power() -> None:
    # 1e-7 of 0.25 W is 25 nW; 4e-21 W/Hz over 1 MHz is 4 fW.
    assert snr(1e-7, 0.25, 1e6, 4e-21) == pytest.approx(6.25e6, rel=ROUNDING)


@pytest.mark.parametrize(
    ("received_W", "bandwidth_Hz", "rate"),
    [
        (1.0, 1.0, 1.0),  # SNR 1: one bit a second and hertz
        (3.0, 1.0, 2.0),
        (1023e6, 1e6, 1e7),  # SNR 1023 = 2^10 - 1
        (0.0, 1e6, 0.0),
    ],
)
def test_rate_counts_bits_to_base_2(received_W: float, bandwidth_Hz: float, rate: float) -> None:
    assert rate_bit_s(received_W, 1.0, bandwidth_Hz, 1.0) == pytest.approx(rate, rel=ROUNDING)


def test_rate_of_a_weak_signal_keeps_its_digits() -> None:
    # log2(1 + x) = (x - x^2/2 + ...) / ln 2; at 1e-12, 1 + x alone would lose four digits.
    assert rate_bit_s(1e-12, 1.0, 1.0, 1.0) == pytest.approx((1e-12 - 0.5e-24) / math.log(2), rel=ROUNDING)


@pytest.mark.parametrize("mean_snr", [1e-3, 0.1, 1.0, 30.0, 1e4, 1e7])
def test_mean_rayleigh_rate_is_the_integral_over_the_fading(mean_snr: float) -> None:
    def integrand(u: float) -> float:
        return math.log2(1.0 + mean_snr * u) * math.exp(-u)

    cuts = sorted({0.0, min(1.0, 1.0 / mean_snr), 1.0, 10.0, 60.0})  # e^-60 is below rounding
    mean = sum(quad(integrand, low, high, epsabs=0.0, epsrel=1e-11)[0] for low, high in pairwise(cuts))
    mean_rate = mean_rayleigh_rate_bit_s(mean_snr, 1.0, 2.0, 0.5)  # N0 BW = 1
    assert mean_rate == pytest.approx(2.0 * mean, rel=QUADRATURE)


def test_mean_rayleigh_rate_at_the_ends_of_the_scale() -> None:
    # For a small SNR s the rate is linear in it, with mean BW (s - s^2) / ln 2 + O(s^3) since E u^2 = 2.
    s = 1e-6
    assert mean_rayleigh_rate_bit_s(s, 1.0, 1.0, 1.0) == pytest.approx((s - s**2) / math.log(2), rel=1e-10)
    # For a large one log(1 + s u) is log s + log u, whose mean is log s minus Euler's constant, up to O(log s / s).
    s = 1e13
    expected = (math.log(s) - 0.5772156649015329) / math.log(2)
    assert mean_rayleigh_rate_bit_s(s, 1.0, 1.0, 1.0) == pytest.approx(expected, rel=1e-10)


def test_mean_rayleigh_rate_is_below_the_rate_of_the_mean_gain() -> None:
    gain = 10.0 ** np.linspace(-4, 12, 50)
    mean = mean_rayleigh_rate_bit_s(gain, 1.0, 1.0, 1.0)
    assert (mean > 0).all()
    assert (mean < rate_bit_s(gain, 1.0, 1.0, 1.0)).all()  # Jensen: the rate is concave in the gain
    assert (np.diff(mean) > 0).all()


def test_transfer_time_and_energy() -> None:
    assert transfer_s(32_153_600, 2e6) == pytest.approx(16.0768, rel=ROUNDING)
    assert transfer_J(0.25, 16.0768) == pytest.approx(4.0192, rel=ROUNDING)


def test_everything_works_on_arrays() -> None:
    rates = rate_bit_s(np.asarray([1.0, 3.0]), 1.0, np.asarray([1.0, 1.0]), 1.0)
    np.testing.assert_allclose(transfer_s(np.asarray([10.0, 10.0]), rates), [10.0, 5.0], rtol=ROUNDING)
