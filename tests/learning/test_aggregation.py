import pickle

import numpy as np
import pytest

from dmafl.base.errors import BadInput
from dmafl.learning.aggregation import Constant, Hinge, Polynomial, mix, mix_weight


def test_constant():
    assert Constant()([0, 3, 100]).tolist() == [1, 1, 1]


def test_hinge():
    # a = 10, b = 4: 1 up to s = 4, then 1 / (10 * 1 + 1), 1 / (10 * 2 + 1).
    np.testing.assert_allclose(Hinge(a=10, b=4)([0, 4, 5, 6]), [1, 1, 1 / 11, 1 / 21])


def test_polynomial():
    # a = 1/2: 1, 1/sqrt(2), 1/sqrt(4), 1/sqrt(9).
    np.testing.assert_allclose(Polynomial(a=0.5)([0, 1, 3, 8]), [1, 0.70710678, 0.5, 1 / 3])


def test_mix_weight():
    assert mix_weight(0.6, Constant(), 7) == 0.6
    assert mix_weight(0.6, Polynomial(0.5), 3) == pytest.approx(0.3)
    # 0.6 (1 + 60/20)^(-1/2) = 0.3; with staleness 3 half of that.
    assert mix_weight(0.6, Constant(), 0, slot=60, mix_decay=20) == pytest.approx(0.3)
    assert mix_weight(0.6, Polynomial(0.5), 3, slot=60, mix_decay=20) == pytest.approx(0.15)
    np.testing.assert_allclose(mix_weight(0.6, Constant(), [0, 0], slot=[0, 60], mix_decay=20), [0.6, 0.3])


def test_mix():
    w, local = np.array([1, 2], np.float32), np.array([3, -2], np.float32)
    mixed = mix(w, local, 0.25)
    assert mixed.tolist() == [1.5, 1.0]
    assert (mixed.dtype, w.tolist()) == (np.float32, [1, 2])
    assert mix(w, local, mix_weight(0.25, Constant(), 0), out=w) is w
    assert w.tolist() == [1.5, 1.0]


def test_mixing_weights_0_and_1_are_exact():
    draw = np.random.default_rng(0)
    w, local = draw.normal(size=(2, 1000)).astype(np.float32)
    np.testing.assert_array_equal(mix(w, local, 0.0), w)
    np.testing.assert_array_equal(mix(w, local, 1.0), local)


def test_factors_travel_between_processes():
    for factor in (Constant(), Hinge(1, 2), Polynomial(0.5)):
        assert pickle.loads(pickle.dumps(factor)) == factor


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: Hinge(-1, 2), "`hinge.a` must be"),
        (lambda: Hinge(1, float("nan")), "`hinge.b` must be"),
        (lambda: Polynomial(float("inf")), "`polynomial.a` must be"),
        (lambda: Polynomial(1)([0, -1]), "`staleness` must be >= 0; got -1"),
        (lambda: mix_weight(0.5, Constant(), 0, 0, mix_decay=0), "`mix_decay` must be > 0"),
    ],
)
def test_bad_input(wrong, message):
    with pytest.raises(BadInput, match=message):
        wrong()
