"""Slopes and replacements of all loss models against differences of their values."""

import numpy as np
import pytest

from dmafl.planning.decision import jobs_from, times_of
from support.decisions import random_decision
from support.synthetic_problems import synthetic_problem

TIMES = ("idle_s", "compute_s", "start_s", "end_s", "download_s", "upload_s")


@pytest.mark.parametrize("quality", ["calibrated", "sharp", "printed"])
@pytest.mark.parametrize("seed", range(3))
def test_slopes_are_derivatives(seed: int, quality: str) -> None:
    """Of everything but term (e) of the printed bound, which needs a fresh schedule, and held times."""
    problem = synthetic_problem(5, 1, 15, seed, quality=quality, dissimilarity="gram")
    task = problem.tasks[0]
    decision = random_decision(problem, task, seed, 1)
    jobs = jobs_from(problem, task, decision, times_of(task, decision))
    slopes = task.loss_model.slopes(jobs)
    for name, slope in (("steps", slopes.steps), ("batch", slopes.batch)):
        for g in range(0, 15, 4):
            values = []
            for sign in (1, -1):
                column = getattr(jobs, name).copy()
                column[g] *= 1 + sign * 1e-5
                values.append(task.loss_model.value(jobs.with_(**{name: column})))
            step = 2e-5 * getattr(jobs, name)[g]
            assert slope[g] == pytest.approx((values[0] - values[1]) / step, rel=2e-2, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_slopes_of_time(seed: int) -> None:
    """The end of a task and seconds of computation cost what the drift says."""
    problem = synthetic_problem(5, 1, 10, seed, quality="sharp", dissimilarity="diagonal")
    task = problem.tasks[0]
    decision = random_decision(problem, task, seed, 1)
    jobs = jobs_from(problem, task, decision, times_of(task, decision))
    slopes, value = task.loss_model.time_slopes(jobs), task.loss_model.value(jobs)
    later = jobs.end_s.copy()
    later[-1] += 1e-3
    gained = (task.loss_model.value(jobs.with_(end_s=later)) - value) / 1e-3
    assert slopes.horizon_s + slopes.under_way_s[-1] == pytest.approx(gained, rel=1e-3)


@pytest.mark.parametrize("quality", ["calibrated", "sharp", "printed"])
@pytest.mark.parametrize("seed", range(3))
def test_replacements_are_what_another_device_does(seed: int, quality: str) -> None:
    problem = synthetic_problem(5, 1, 15, seed, quality=quality, dissimilarity="gram")
    task = problem.tasks[0]
    decision = random_decision(problem, task, seed, 2)
    jobs = jobs_from(problem, task, decision, times_of(task, decision))
    still = {name: np.zeros(15) for name in TIMES}
    jobs = jobs.with_(**still)
    gained, value = task.loss_model.replacements(jobs), task.loss_model.value(jobs)
    scale = np.abs(gained).max()
    for g in range(0, 15, 3):
        for i in range(5):
            device = jobs.device.copy()
            device[g] = i
            true = task.loss_model.value(jobs.with_(device=device)) - value
            assert gained[g, i] == pytest.approx(true, abs=0.02 * scale)
