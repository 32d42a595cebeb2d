"""The error rate: its formula by hand, its fit, and accuracies that go with it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from dmafl.base.randomness import generator
from dmafl.theory.accuracy_fit import LEAST_SPREAD, LEVELS, fit_accuracy, fit_curve
from dmafl.theory.constants import Constants
from dmafl.theory.error_rate import ErrorRate, Handicaps, handicap_of
from dmafl.theory.error_rate_fit import _Squares, fit_error_rate
from dmafl.theory.features import features
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.label_mix import LabelMix
from dmafl.theory.prefixes import features_of_prefixes
from dmafl.theory.tested_jobs import TestedJobs
from support.small_jobs import draw_case

CLASSES = 4
SLOPE = 1e-5
"""Error of differences of the first order."""
CLOSE = 0.01
"""How near a fit comes to accuracies that its own formula made."""


def untimed(seed: int, slots: int = 30) -> tuple[TaskJobs, Constants]:
    jobs, constants = draw_case(seed, devices=5, slots=slots)
    names = ("idle_s", "start_s", "download_s", "compute_s", "upload_s", "end_s")
    return jobs.with_(**dict.fromkeys(names, np.zeros(len(jobs)))), constants


def labels() -> LabelMix:
    return LabelMix(generator(1, "test.labels").dirichlet(np.full(CLASSES, 0.4), 5), np.ones(CLASSES))


def made_up(rng: np.random.Generator, rows: int) -> Handicaps:
    return Handicaps(
        handicap_of(rng.normal(0, 1, (rows, CLASSES))), rng.normal(1, 1, rows), rng.normal(2, 1, rows)
    )


TRUTH = ErrorRate(40.0, 0.4, 0.15, 0.5, (0.3, 0.1, -0.1, 0.2), (0.1, 0.15, 0.05, 0.1), 0.1)


def test_by_hand() -> None:
    """Two classes, the second leads by log 2: the handicaps are log 2 and -log 2."""
    np.testing.assert_allclose(handicap_of(np.log([[1.0, 2.0]])), [[np.log(2), -np.log(2)]])
    rate = ErrorRate(40.0, 1.0, 0.0, 1.0, (0.0, 0.0), (0.0, 0.2), 0.5)
    seen = Handicaps(np.log([[2.0, 0.5]]), np.zeros(1), np.zeros(1))
    right = 0.25 * (1 / 3) + 0.75 * 0.8 * (2 / 3)  # sigmoid(-log 2) = 1/3, sigmoid(log 2) = 2/3
    asked = np.asarray([0.25, 0.75])
    assert rate.right(seen, asked)[0] == pytest.approx(max(right, 0.25**2 + 0.75**2))
    better = Handicaps(seen.handicap, np.full(1, 3.0), np.zeros(1))
    lead = 1 / (1 + np.exp(-(3.0 - np.log(2)))), 1 / (1 + np.exp(-(3.0 + np.log(2))))
    left = 1 - 0.2 * np.exp(-1.5)  # the floor falls like N^(-1/2)
    assert rate.right(better, asked)[0] == pytest.approx(0.25 * lead[0] + 0.75 * left * lead[1])


def test_more_training_and_exchange_never_hurt() -> None:
    jobs, _ = untimed(3)
    usual = TRUTH.of_jobs(jobs, labels())
    assert TRUTH.of_jobs(jobs, labels(), trained=5.0) < usual
    assert TRUTH.of_jobs(jobs, labels(), exchanged=5.0) < usual


def test_the_last_slot_is_one_of_all_slots() -> None:
    jobs, _ = untimed(4)
    counts = np.asarray([7, 19, 30])
    of_slots = TRUTH.of_slots(jobs, labels(), counts)
    for count, error in zip(counts.tolist(), of_slots.tolist(), strict=True):
        assert TRUTH.of_jobs(jobs.first(count), labels()) == pytest.approx(error, rel=1e-12)


def test_slopes_are_those_of_the_residuals() -> None:
    rng = generator(5, "test.error_rate")
    squares = _Squares(made_up(rng, 12), rng.random(12), np.full(CLASSES, 1 / CLASSES))
    x = np.concatenate([[0.1, 0.3, 0.2, -0.5, -1.2], rng.normal(0, 0.1, 2 * CLASSES)])
    np.testing.assert_allclose(squares.slopes(x), approx_fprime(x, squares.residuals, 1e-7), atol=SLOPE)


def test_the_fit_finds_what_made_the_accuracies() -> None:
    rng = generator(6, "test.error_rate")
    asked = np.full(CLASSES, 1 / CLASSES)
    seen, other = made_up(rng, 400), made_up(rng, 50)
    found, error = fit_error_rate(seen, TRUTH.right(seen, asked), asked, 40.0)
    assert error < CLOSE**2
    np.testing.assert_allclose(found.right(other, asked), TRUTH.right(other, asked), atol=3 * CLOSE)


def test_prefixes_have_the_features_of_shorter_schedules() -> None:
    jobs, constants = untimed(7)
    counts = np.asarray([1, 5, 16, 30])
    for count, seen in zip(
        counts.tolist(), features_of_prefixes(jobs, counts, constants, labels(), 10.0), strict=True
    ):
        alone = features(jobs.first(count), constants, labels(), 10.0)
        for name in ("training", "exchange", "gram_bias", "label_bias", "noise"):
            assert getattr(seen, name) == pytest.approx(getattr(alone, name), rel=1e-9), name


def test_accuracies_are_predicted_for_runs_that_no_fit_saw() -> None:
    """Runs whose accuracies the formula makes, with noise: the curve gives them back, its intervals cover them."""
    rng = generator(8, "test.error_rate")
    runs = []
    for seed in range(40):
        jobs, _ = untimed(seed)
        counts = np.arange(3, 31, 3)
        accuracies = 1.0 - TRUTH.of_slots(jobs, labels(), counts) + rng.normal(0, 0.02, len(counts))
        runs.append(TestedJobs(jobs, counts, np.ones(len(counts)), accuracies))
    rate, curve = fit_accuracy(runs[:30], labels())
    inside, errors = [], []
    for run in runs[30:]:
        for error, accuracy in zip(
            rate.of_slots(run.jobs, labels(), run.slots).tolist(), run.accuracies.tolist(), strict=True
        ):
            low, high = curve.interval(error, 0.8)
            inside.append(low <= accuracy <= high)
            errors.append(abs(curve.at(error) - accuracy))
    assert np.mean(errors) < 0.03
    assert 0.6 < np.mean(inside) < 0.95


def test_the_curve_falls_and_its_quantiles_rise() -> None:
    rng = generator(9, "test.error_rate")
    errors = rng.random(500)
    curve = fit_curve(errors, 1.0 - errors + rng.normal(0, 0.05, 500), np.arange(500) // 10)
    assert (np.diff(curve.accuracy) <= 0).all()
    assert (np.diff(curve.error) > 0).all()
    assert min(curve.spread) >= LEAST_SPREAD
    assert curve.levels == LEVELS
    for error in (0.2, 0.5, 0.8):
        assert curve.at(error) == pytest.approx(1.0 - error, abs=0.03)
        quantiles = [curve.quantile(error, level) for level in (0.1, 0.2, 0.5, 0.8, 0.9)]
        assert quantiles == sorted(quantiles)
        assert quantiles[-1] - quantiles[0] == pytest.approx(2 * 1.28 * 0.05, rel=0.3)
    assert curve.at(-0.5) == 1.0  # the slope goes on, up to certainty


def test_the_largest_error_that_reaches_an_accuracy() -> None:
    rng = generator(10, "test.error_rate")
    errors = rng.random(500)
    curve = fit_curve(errors, 1.0 - errors + rng.normal(0, 0.02, 500), np.arange(500))
    enough = curve.error_for(0.7, 0.8)
    assert enough is not None
    assert curve.quantile(enough, 0.2) >= 0.7
    assert curve.quantile(enough + 0.01, 0.2) < 0.7
    surer = curve.error_for(0.7, 0.9)
    assert surer is not None and surer < enough
    assert curve.error_for(1.0, 0.999) is None
