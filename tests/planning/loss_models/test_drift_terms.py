"""Drift terms of loss models: slopes in times against differences, and against the expressions written out."""

from dataclasses import replace

import numpy as np
import pytest

from dmafl.planning.decision import jobs_from, times_of
from dmafl.planning.loss_models.calibrated import Calibrated
from dmafl.planning.loss_models.drift_terms import DriftWeights, overlap, slopes_of_jobs, time_slopes
from dmafl.planning.loss_models.drifting import DriftingLossModel
from dmafl.planning.loss_models.label_slopes import scores_of_all
from dmafl.planning.loss_models.sharp import Sharp
from dmafl.theory.drift import drift_of_all, drift_while_under_way
from dmafl.theory.jobs import TaskJobs
from support.decisions import random_decision
from support.small_jobs import draw_case
from support.synthetic_problems import synthetic_problem

AGREE = 1e-12
SEEDS = range(4)


def case(quality: str, seed: int, in_flight: int) -> tuple[DriftingLossModel, TaskJobs]:
    """A model in which every drift counts, and a random schedule."""
    problem = synthetic_problem(5, 1, 12, seed, quality=quality)
    task = problem.tasks[0]
    model = task.loss_model
    if isinstance(model, Calibrated):
        weights = replace(model.calibration.weights, window=0.4)
        model = replace(model, calibration=replace(model.calibration, weights=weights))
    assert isinstance(model, Calibrated | Sharp)
    decision = random_decision(problem, task, seed, in_flight)
    return model, jobs_from(problem, task, decision, times_of(task, decision))


@pytest.mark.parametrize("seed", SEEDS)
def test_time_slopes_of_the_prediction(seed: int) -> None:
    model, jobs = case("calibrated", seed, 3)
    assert isinstance(model, Calibrated)
    c, weight, G = model.constants, model.calibration.weights, len(jobs)
    assert weight.drift > 0 and weight.window > 0
    slopes = model.time_slopes(jobs)
    of_compute = weight.drift * (c.drift_active - c.drift_idle)
    of_compute = of_compute + 4.0 * weight.window / G * (c.drift_active_size - c.drift_idle_size)
    np.testing.assert_allclose(slopes.compute_s, of_compute, atol=AGREE * float(np.abs(of_compute).max()))
    under_way = np.full(G, 4.0 * weight.window * float(c.drift_idle_size.sum()) / G)
    np.testing.assert_allclose(slopes.under_way_s, under_way, rtol=AGREE)
    assert slopes.horizon_s == pytest.approx(weight.drift * float(c.drift_idle.sum()), rel=AGREE)


@pytest.mark.parametrize("quality", ["calibrated", "sharp"])
@pytest.mark.parametrize("seed", SEEDS)
def test_smooth_value_and_overlap_add_up_to_the_value(quality: str, seed: int) -> None:
    model, jobs = case(quality, seed, 4)
    labelled = model.labelled(jobs)
    scores = None if labelled is None else scores_of_all([labelled])[0]
    total = model.smooth_value(jobs, scores) + model.overlap_value(jobs)
    assert total == pytest.approx(model.value(jobs), rel=1e-10)
    assert model.overlap_value(jobs) != 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_slopes_of_jobs_are_those_of_both_drifts_without_overlap(seed: int) -> None:
    jobs, c = draw_case(seed, slots=12)
    rng = np.random.default_rng(seed)
    c = type(c)(**(vars(c) | {"drift_idle": np.abs(c.drift_idle)}))  # a late end is worth nothing
    compute_s, transfer_s = rng.uniform(0.2, 1.0, 12), rng.uniform(0.1, 0.2, 12)
    end_s = np.cumsum(compute_s + 2.0 * transfer_s)
    timed = jobs.with_(
        version=jobs.slot,
        compute_s=compute_s,
        download_s=transfer_s,
        upload_s=transfer_s,
        start_s=end_s - compute_s - 2.0 * transfer_s,
        end_s=end_s,
    )
    weights = DriftWeights(0.7, rng.uniform(0.1, 1.0, 12))

    def total(now: TaskJobs) -> float:
        alone = drift_while_under_way(now, c) - overlap(now, c)
        return weights.of_all * drift_of_all(now, c) + float(weights.under_way @ alone)

    of_ends, of_compute = slopes_of_jobs(timed, c, weights)
    for k in range(12):
        change = 1e-6 * (np.arange(12) == k)
        later = 1e-6 * (np.arange(12) >= k)
        ahead, behind = (
            timed.with_(
                compute_s=compute_s + sign * change,
                end_s=end_s + sign * later,
                start_s=timed.start_s + sign * (later - change),
            )
            for sign in (1.0, -1.0)
        )
        slope = (total(ahead) - total(behind)) / 2e-6
        assert slope == pytest.approx(of_compute[k] + of_ends[k:].sum(), rel=1e-6, abs=1e-8)


def test_weights_scale() -> None:
    _, c = draw_case(0)
    weights = DriftWeights(0.3, np.asarray([0.1, 0.2]))
    once, twice = time_slopes(weights, c), time_slopes(weights.times(2.0), c)
    np.testing.assert_allclose(twice.compute_s, 2.0 * once.compute_s)
    np.testing.assert_allclose(twice.under_way_s, 2.0 * once.under_way_s)
    assert twice.horizon_s == pytest.approx(2.0 * once.horizon_s)
