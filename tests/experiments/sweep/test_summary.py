from math import isnan, sqrt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmafl.experiments.sweep.outcome import NUMBERS
from dmafl.experiments.sweep.summary import front, groups

T_975_1 = 12.706205


def rows(*given_rows):
    whole = [dict.fromkeys(NUMBERS) | row for row in given_rows]
    return pa.Table.from_pylist(whole)


def test_groups_are_means_over_seeds():
    table = rows(
        {"k": 1.0, "l": "x", "task": "a", "seed": 0, "loss": 1.0},
        {"k": 1.0, "l": "x", "task": "a", "seed": 1, "loss": 3.0},
        {"k": 1.0, "l": "y", "task": "a", "seed": 0, "loss": 5.0},
        {"k": 2.0, "l": "x", "task": "a", "seed": 0, "loss": 7.0},
    )
    both = groups(table, ["k", "l"])
    assert [(one.settings, one.values["loss"].mean) for one in both] == [
        ((1.0, "x"), 2.0),
        ((1.0, "y"), 5.0),
        ((2.0, "x"), 7.0),
    ]
    assert both[0].values["loss"].half == pytest.approx(T_975_1 * sqrt(2) / sqrt(2), rel=1e-6)
    assert both[0].values["accuracy"].n == 0
    one = groups(table, ["k"])
    assert one[0].values["loss"].mean == pytest.approx((3.0 + 3.0) / 2)  # seed 0: mean of 1 and 5
    assert isnan(one[1].values["loss"].half)


def test_front_by_hand():
    energy, loss = [3.0, 1.0, 2.0, 2.0, 4.0], [0.2, 0.9, 0.5, 0.4, 0.3]
    assert front(energy, loss).tolist() == [1, 3, 0]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30))
def test_front_is_what_nobody_beats(points):
    energy, loss = np.asarray(points, dtype=float).T
    kept = front(energy, loss)
    for row, (e, bad) in enumerate(points):
        beaten = any(x <= e and y <= bad and (x, y) != (e, bad) for x, y in points)
        same = any((energy[k], loss[k]) == (e, bad) for k in kept)
        assert same != beaten, row
    assert (np.diff(energy[kept]) > 0).all()
