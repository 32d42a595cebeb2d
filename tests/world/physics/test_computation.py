"""Time and energy of local training at values known by hand."""

import numpy as np
import pytest

from dmafl.world.physics.computation import compute_J, compute_s

ROUNDING = 1e-14
"""Relative: four products and a quotient."""


def test_compute_time_is_cycles_over_frequency() -> None:
    # 1000 cycles a sample, 20 steps of 16 samples: 320,000 cycles; at 10 MHz 32 ms.
    assert compute_s(1000.0, 20, 16, 1e7) == pytest.approx(0.032, rel=ROUNDING)


def test_compute_energy_is_capacitance_times_cycles_times_frequency_squared() -> None:
    # 2e-20 * 320,000 * (1e7)^2 = 0.64 J.
    assert compute_J(1000.0, 20, 16, 1e7, 2e-20) == pytest.approx(0.64, rel=ROUNDING)


def test_twice_the_frequency_halves_the_time_and_quadruples_the_energy() -> None:
    f = np.asarray([1e9, 2e9])
    slow_s, fast_s = compute_s(5e6, 5, 32, f)
    slow_J, fast_J = compute_J(5e6, 5, 32, f, 1e-28)
    assert fast_s == pytest.approx(slow_s / 2, rel=ROUNDING)
    assert fast_J == pytest.approx(4 * slow_J, rel=ROUNDING)
