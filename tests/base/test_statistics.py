from math import isnan, nan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmafl.base.statistics import (
    Interval,
    Reached,
    interval,
    mean_over_aggregations,
    paired,
    spent_to,
    unpaired,
)

T_975_1 = 12.706205
T_975_2 = 4.302653
T_95_2 = 2.919986
"""Quantiles of Student's t with 1 and 2 degrees of freedom, from a printed table."""

TABLE = 1e-6
"""Relative error of a table with seven digits."""


def test_interval_of_three_values_by_hand():
    estimate = interval([1.0, 2.0, 6.0])  # mean 3, variance (4 + 1 + 9) / 2 = 7
    assert estimate.mean == pytest.approx(3.0)
    assert estimate.half == pytest.approx(T_975_2 * sqrt(7 / 3), rel=TABLE)
    assert estimate.n == 3
    assert (estimate.low, estimate.high) == pytest.approx((3 - estimate.half, 3 + estimate.half))
    assert not estimate.excludes_zero


def test_level_changes_the_width():
    assert interval([1.0, 2.0, 6.0], level=0.9).half == pytest.approx(T_95_2 * sqrt(7 / 3), rel=TABLE)
    with pytest.raises(ValueError, match="level"):
        interval([1.0, 2.0], level=95)


def test_one_value_has_no_width_and_none_no_mean():
    one, none = interval([0.5]), interval([])
    assert (one.mean, one.n) == (0.5, 1)
    assert isnan(one.half) and isnan(one.low) and not one.excludes_zero
    assert isnan(none.mean) and isnan(none.half) and none.n == 0


@pytest.mark.parametrize(
    ("mean", "half", "excluded"),
    [(1.0, 0.9, True), (-1.0, 0.9, True), (1.0, 1.0, False), (1.0, nan, False), (0.0, 0.0, False)],
)
def test_excludes_zero(mean, half, excluded):
    assert Interval(mean, half, 3).excludes_zero is excluded


def test_paired_takes_common_seeds_only():
    difference = paired({1: 5.0, 2: 7.0, 3: 100.0}, {2: 3.0, 1: 3.0, 9: -50.0})  # differences 2 and 4
    assert difference.mean == pytest.approx(3.0)
    assert difference.half == pytest.approx(T_975_1 * sqrt(2) / sqrt(2), rel=TABLE)
    assert difference.n == 2
    assert paired({1: 5.0}, {2: 3.0}).n == 0


def test_unpaired_by_hand():
    # Squared standard errors 1 and 1 with one degree of freedom each: 4 / (1 + 1) = 2 degrees.
    difference = unpaired([4.0, 6.0], [1.0, 3.0])
    assert difference.mean == pytest.approx(3.0)
    assert difference.half == pytest.approx(T_975_2 * sqrt(2), rel=TABLE)
    assert difference.n == 2
    assert isnan(unpaired([4.0, 6.0], [1.0]).half)
    assert unpaired([4.0, 4.0], [1.0, 1.0]) == Interval(3.0, 0.0, 2)


def test_energy_when_first_reached():
    at, accuracy, energy = [0, 5, 10, 15], [0.1, 0.5, 0.4, 0.6], [0.0, 10.0, 20.0, 40.0]
    assert spent_to(at, accuracy, energy, 0.1) == Reached(0.0, 0.0, 0.0, missed=False)
    assert spent_to(at, accuracy, energy, 0.5) == Reached(10.0, 2.0, 10.0, missed=False)
    # three quarters of the way from 0.4 to 0.6, and from 20 J to 40 J; the next aggregation alone costs 4 J
    assert spent_to(at, accuracy, energy, 0.55) == Reached(pytest.approx(35.0), 24.0, 40.0, missed=False)
    # a quarter of the way would be 2.5 J, the hundredth part less than one aggregation
    assert spent_to(at, accuracy, energy, 0.2) == Reached(pytest.approx(2.5), 2.0, 10.0, missed=False)
    assert spent_to(at, accuracy, energy, 0.104) == Reached(2.0, 2.0, 10.0, missed=False)
    assert spent_to(at, accuracy, energy, 0.61) == Reached(40.0, 40.0, 40.0, missed=True)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20), st.floats(0, 1), st.integers(1, 7))
def test_straight_lies_between_what_tests_tell(accuracy, target, every):
    """Were every aggregation tested, all three would be the same."""
    at = every * np.arange(len(accuracy))
    reached = spent_to(at, accuracy, np.cumsum(np.arange(len(accuracy))), target)
    assert reached.least <= reached.straight <= reached.most
    assert reached.missed == (max(accuracy) < target)
    if every == 1 or reached.missed:
        assert reached.least == reached.most


def test_mean_over_aggregations_does_not_depend_on_spacing():
    assert mean_over_aggregations([0, 1, 2], [0.0, 0.5, 0.7]) == pytest.approx(0.4)
    # 0, 0.1, 0.2, 0.3 on the way to 0.4, then 0.4 once more
    assert mean_over_aggregations([0, 4, 5], [0.0, 0.4, 0.4]) == pytest.approx(1.4 / 6)
    assert mean_over_aggregations([3], [0.25]) == 0.25
