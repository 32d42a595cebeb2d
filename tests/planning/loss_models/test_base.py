"""Defaults of a loss model against what the models of the package write for themselves."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dmafl.planning.decision import jobs_from, times_of
from dmafl.planning.loss_models.base import LossModel
from dmafl.planning.loss_models.surrogate import ExpansionPoint
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.theory.jobs import TaskJobs
from support.decisions import random_decision
from support.synthetic_problems import synthetic_problem

MODELS = ["calibrated", "sharp", "printed"]
DIFFERENCES = 1e-5
"""Relative error of central differences, of the largest slope."""
ROUNDING = 1e-9


def without_drift(problem: Problem) -> TaskProblem:
    """Slopes and replacements hold times, so that no drift may depend on them."""
    task = problem.tasks[0]
    model: Any = task.loss_model
    none = np.zeros(problem.devices)
    names = ("drift_idle", "drift_active", "drift_idle_size", "drift_active_size")
    constants = replace(model.constants, **dict.fromkeys(names, none))
    return replace(task, loss_model=replace(model, constants=constants))


def case(model: str, seed: int, in_flight: int = 1) -> tuple[LossModel, TaskJobs]:
    problem = synthetic_problem(5, 1, 9, seed, quality=model, dissimilarity="diagonal")
    task = without_drift(problem)
    decision = random_decision(problem, task, seed, in_flight)
    return task.loss_model, jobs_from(problem, task, decision, times_of(task, decision))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", range(3))
def test_slopes(model: str, seed: int) -> None:
    loss_model, jobs = case(model, seed)
    written, default = loss_model.slopes(jobs), LossModel.slopes(loss_model, jobs)
    for name in ("steps", "batch"):
        slope = getattr(written, name)
        size = DIFFERENCES * float(np.abs(slope).max())
        np.testing.assert_allclose(getattr(default, name), slope, atol=size)


@pytest.mark.parametrize("model", MODELS)
def test_noise_weights(model: str) -> None:
    loss_model, jobs = case(model, 1)
    written = loss_model.noise_weights(jobs)
    np.testing.assert_allclose(LossModel.noise_weights(loss_model, jobs), written, rtol=ROUNDING)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("slots", [slice(None), slice(2, 5)])
def test_replacements(model: str, slots: slice) -> None:
    loss_model, jobs = case(model, 2, in_flight=1 if model == "printed" else 3)
    written = loss_model.replacements(jobs, slots=slots)
    default = LossModel.replacements(loss_model, jobs, slots=slots)
    np.testing.assert_allclose(default, written, atol=ROUNDING * float(np.abs(written).max()))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("strength", [0.1, 4.0])
def test_surrogates_touch_with_the_slopes_of_the_loss(model: str, strength: float) -> None:
    loss_model, jobs = case(model, 0)
    slopes = loss_model.slopes(jobs)
    of_work = slopes.batch / jobs.steps
    of_steps = slopes.steps - slopes.batch * jobs.batch / jobs.steps
    default = LossModel.surrogate(loss_model, 2.0, ExpansionPoint(jobs, None, strength))
    size = ROUNDING * float(np.abs(of_steps).max())
    np.testing.assert_allclose(default.slopes(jobs)[0], 2.0 * of_steps, atol=size)
    np.testing.assert_allclose(default.slopes(jobs)[1], 2.0 * of_work, rtol=ROUNDING)
    assert (default.curvature >= 0).all()
    assert (default.noise >= 0).all()


def test_times_do_not_count_unless_a_model_says_so() -> None:
    loss_model, jobs = case("sharp", 0)
    slopes = LossModel.time_slopes(loss_model, jobs)
    assert slopes.compute_s.shape == (5,)
    assert slopes.under_way_s.shape == (len(jobs),)
    assert not slopes.compute_s.any() and not slopes.under_way_s.any() and slopes.horizon_s == 0.0
