"""Aggregators by hand numbers, small enough to check on paper."""

from __future__ import annotations

import numpy as np
import pytest

from dmafl.learning.aggregation import Constant, Hinge, Polynomial
from dmafl.server.aggregators import Average, Buffer, MixAtOnce
from support.scripted_transport import update, vector

FLOAT32 = 1e-6
"""Models are float32: seven digits."""


@pytest.mark.parametrize(
    ("phi", "staleness", "weight"),
    [
        (Constant(), 0, 0.6),
        (Constant(), 9, 0.6),
        (Hinge(a=10.0, b=4.0), 4, 0.6),
        (Hinge(a=10.0, b=4.0), 5, 0.6 / 11.0),
        (Hinge(a=0.5, b=4.0), 8, 0.2),
        (Polynomial(a=0.5), 0, 0.6),
        (Polynomial(a=0.5), 3, 0.3),
        (Polynomial(a=1.0), 5, 0.1),
    ],
)
def test_mix_at_once(phi, staleness: int, weight: float) -> None:
    mixed, used = MixAtOnce(0.6, phi).add(
        vector(1.0, -2.0), update(vector(2.0, 2.0), vector(9.0, 9.0), staleness), 7
    )
    assert used == pytest.approx(weight, rel=1e-12)
    assert mixed is not None
    np.testing.assert_allclose(mixed, [1.0 + weight, -2.0 + 4.0 * weight], rtol=FLOAT32)
    assert mixed.dtype == np.float32


@pytest.mark.parametrize(("slot", "factor"), [(0, 1.0), (20, 0.5**0.5), (60, 0.5), (160, 1.0 / 3.0)])
def test_mix_decay(slot: int, factor: float) -> None:
    rule = MixAtOnce(0.8, Polynomial(0.5), mix_decay=20.0)
    mixed, used = rule.add(vector(0.0), update(vector(1.0), vector(0.0), 3), slot)
    assert used == pytest.approx(0.4 * factor, rel=1e-12)
    np.testing.assert_allclose(mixed, [0.4 * factor], rtol=FLOAT32)


def test_mixing_leaves_its_inputs_alone() -> None:
    current, local = vector(1.0), vector(2.0)
    MixAtOnce(0.5, Constant()).add(current, update(local, current, 0), 0)
    assert (current.tolist(), local.tolist()) == ([1.0], [2.0])


def test_average_of_all() -> None:
    rule = Average(3)
    assert rule.add(vector(9.0), update(vector(1.0), vector(0.0), 0), 0) == (None, pytest.approx(1 / 3))
    assert rule.add(vector(9.0), update(vector(2.0), vector(0.0), 4), 0)[0] is None
    mean, weight = rule.add(vector(9.0), update(vector(6.0), vector(0.0), 0), 0)
    assert (mean.tolist(), weight) == ([3.0], pytest.approx(1 / 3))
    assert rule.state() == ({"count": 0}, {})
    assert rule.add(vector(9.0), update(vector(5.0), vector(0.0), 0), 1)[0] is None, (
        "the next round begins anew"
    )


def test_average_is_complete_when_it_need_not_wait_any_more() -> None:
    rule = Average(3)
    rule.add(vector(0.0), update(vector(1.0), vector(0.0), 0), 0)
    rule.add(vector(0.0), update(vector(2.0), vector(0.0), 0), 0)
    assert rule.complete_round(vector(0.0)) is None
    rule.expect(2)
    completed = rule.complete_round(vector(0.0))
    assert completed is not None
    assert completed.tolist() == [1.5]
    rule.expect(1)
    assert rule.complete_round(vector(0.0)) is None, "nobody has arrived"


def test_buffer() -> None:
    rule = Buffer(2, Polynomial(0.5), server_lr=0.5)
    first, weight = rule.add(vector(10.0), update(vector(3.0), vector(1.0), 0), 0)  # phi 1, delta 2
    assert (first, weight) == (None, pytest.approx(0.25))
    stepped, weight = rule.add(vector(10.0), update(vector(-3.0), vector(1.0), 3), 0)  # phi 1/2, delta -4
    assert weight == pytest.approx(0.125)
    assert stepped.tolist() == [10.0 + 0.5 * (2.0 - 2.0) / 2]
    rule.add(vector(10.0), update(vector(5.0), vector(1.0), 0), 1)
    stepped, _ = rule.add(vector(20.0), update(vector(9.0), vector(1.0), 8), 1)  # 4 + 8/3 = 20/3
    np.testing.assert_allclose(stepped, [20.0 + 0.5 * (20.0 / 3.0) / 2], rtol=FLOAT32)


@pytest.mark.parametrize("make", [lambda: Average(2), lambda: Buffer(2, Constant(), 1.0)])
def test_what_waits_is_saved(make) -> None:
    models = [vector(1.0), vector(2.0)]
    through, saved = make(), make()
    through.add(vector(0.0), update(models[0], vector(0.5), 0), 0)
    saved.restore(*through.state())
    ends = [
        rule.add(vector(0.0), update(models[1], vector(0.5), 0), 0)[0].tolist() for rule in (through, saved)
    ]
    assert ends[0] == ends[1]
