"""Predictions corrected by rehearsals: exact where something was rehearsed, the nearest elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from dmafl.theory.accuracy import LEAST_SPREAD, AccuracyCurve
from dmafl.theory.error_model import trains_proxy
from dmafl.theory.error_rate import ErrorRate
from dmafl.theory.rehearsed_model import NEAR, RehearsedModel

CURVE = AccuracyCurve(
    (0.1, 0.3, 0.9), (0.88, 0.7, 0.1), (0.01, 0.02, 0.05), (0.1, 0.5, 0.9), (-1.3, 0.0, 1.3)
)
REACHED = np.asarray([0.80, 0.81, 0.79, 0.80, 0.82, 0.80, 0.78, 0.80])
STUDENT_10 = -1.415
"""The tenth percentile of Student's t with seven degrees of freedom, from a table."""


def test_the_curve_goes_through_the_mean_of_the_trainings() -> None:
    curve = CURVE.rehearsed(0.2, REACHED)
    moved = REACHED.mean() - CURVE.at(0.2)
    assert curve.at(0.2) == pytest.approx(REACHED.mean())
    assert curve.at(0.5) == pytest.approx(CURVE.at(0.5) + moved)
    assert (np.diff(curve.accuracy) <= 0).all() and (np.diff(curve.error) > 0).all()


def test_a_run_is_off_the_mean_of_eight_as_student_says() -> None:
    curve = CURVE.rehearsed(0.2, REACHED)
    apart = REACHED.std(ddof=1) * np.sqrt(9 / 8)
    assert curve.quantile(0.2, 0.1) == pytest.approx(REACHED.mean() + STUDENT_10 * apart, abs=1e-4)
    same = CURVE.rehearsed(0.2, np.full(8, 0.8))
    assert same.quantile(0.2, 0.1) == pytest.approx(
        0.8 + STUDENT_10 * LEAST_SPREAD * np.sqrt(9 / 8), abs=1e-5
    )


@pytest.mark.parametrize(("error", "reached"), [(0.1, 0.9), (0.05, 0.999), (0.9, 0.02), (0.95, 0.0)])
def test_curves_stay_within_accuracies_and_fall(error: float, reached: float) -> None:
    curve = CURVE.rehearsed(error, np.full(8, reached))
    assert curve.at(error) == pytest.approx(reached)
    assert (np.diff(curve.accuracy) <= 0).all() and (np.diff(curve.error) > 0).all()
    assert all(0.0 <= accuracy <= 1.0 for accuracy in curve.accuracy)


def test_intervals_cover_as_often_as_they_say() -> None:
    """Eight trainings, then a ninth: 20,000 times."""
    rng, inside, times = np.random.default_rng(3), 0, 20_000
    levels = (0.1, 0.9)
    curve = AccuracyCurve((0.0, 1.0), (1.0, 0.0), (0.01, 0.01), levels, (-1.3, 1.3))
    for nine in rng.normal(0.8, 0.01, (times, 9)):
        low, high = curve.rehearsed(0.2, nine[:8]).interval(0.2, 0.8)
        inside += low <= nine[8] <= high
    assert inside / times == pytest.approx(0.8, abs=0.01)


def model(*rehearsed: tuple[int, float]) -> RehearsedModel:
    slots, off = zip(*rehearsed, strict=True)
    return RehearsedModel(ErrorRate.__new__(ErrorRate), CURVE, slots, off)


def test_corrections_are_those_of_the_nearest_numbers_of_slots() -> None:
    one = model((50, 0.02))
    assert one.correction(np.asarray([1, 50, 1000])) == pytest.approx(0.02)
    two = model((20, -0.03), (200, 0.01))
    at = two.correction(np.asarray([20, 63, 200]))
    far = 1.0 / (NEAR + np.log(10)) ** 2 * NEAR**2
    assert at[0] == pytest.approx((-0.03 + 0.01 * far) / (1 + far))
    assert at[0] < at[1] < at[2]
    assert at[1] == pytest.approx(-0.01, abs=1e-3)  # half-way by the logarithm


def test_a_corrected_class_score_model_trains_no_proxy() -> None:
    assert not trains_proxy(model((5, 0.0))) and not trains_proxy(None)
