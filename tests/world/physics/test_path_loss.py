"""Path loss, decibels and noise at values known by hand."""

import numpy as np
import pytest

from dmafl.world.physics.path_loss import linear, noise_W_per_Hz, path_loss_dB

ROUNDING = 1e-14
"""Relative: a logarithm and a power, each good to a few units in the last place."""


@pytest.mark.parametrize(
    ("distance_m", "gain_dB"),
    [(1.0, -30.0), (10.0, -60.0), (100.0, -90.0), (20.0, -60.0 - 30.0 * 0.3010299956639812)],
)
def test_path_loss_is_30_dB_at_1_m_and_30_dB_more_every_decade(distance_m: float, gain_dB: float) -> None:
    assert path_loss_dB(distance_m) == pytest.approx(gain_dB, rel=ROUNDING)


@pytest.mark.parametrize("distance_m", [0.0, 0.2, 1.0])
def test_distances_below_1_m_count_as_1_m(distance_m: float) -> None:
    assert path_loss_dB(distance_m) == -30.0


def test_reference_and_exponent_can_be_chosen() -> None:
    assert path_loss_dB(100.0, at_1m_dB=-40.0, exponent=2.0) == pytest.approx(-80.0, rel=ROUNDING)


def test_path_gain_as_a_ratio_falls_with_the_cube_of_distance() -> None:
    distance_m = np.asarray([1.0, 2.0, 10.0, 25.0])
    # 10^(-30/10) / d^3: at the edge of the disc 1e-3 / 15625 = 6.4e-8.
    expected = [1e-3, 1.25e-4, 1e-6, 6.4e-8]
    np.testing.assert_allclose(linear(path_loss_dB(distance_m)), expected, rtol=10 * ROUNDING)


@pytest.mark.parametrize(
    ("gain_dB", "ratio"), [(0.0, 1.0), (10.0, 10.0), (-30.0, 1e-3), (3.0, 1.9952623149688795)]
)
def test_decibels_as_a_ratio(gain_dB: float, ratio: float) -> None:
    assert linear(gain_dB) == pytest.approx(ratio, rel=ROUNDING)


def test_thermal_noise_of_minus_174_dBm_per_Hz() -> None:
    # -174 dBm = -204 dBW; 10^-20.4 = 3.98107...e-21 W.
    assert noise_W_per_Hz(-174.0) == pytest.approx(3.9810717055349565e-21, rel=10 * ROUNDING)
    assert noise_W_per_Hz(30.0) == 1.0
