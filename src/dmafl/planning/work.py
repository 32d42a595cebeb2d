"""The best steps and batches of a task at given prices; who does them and when is held."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dmafl.planning.choice import Choice
from dmafl.planning.prices import UnitCosts
from dmafl.planning.problem import TaskProblem
from dmafl.planning.quality import Calibrated, Quality
from dmafl.randomness import FloatArray
from dmafl.theory.jobs import TaskJobs

ITERATIONS = 60


def best_work(task: TaskProblem, choice: Choice, jobs: TaskJobs, costs: UnitCosts) -> Choice:
    """Steps and batches that minimise quality plus cost of samples, at the devices' best frequencies.

    The label bias, slow to compute, is taken as linear in the steps. Jobs of the past stay as they are.
    """
    from scipy.optimize import minimize

    quality, pull = _without_labels(task.quality, jobs)
    sample = costs.sample[choice.device]
    scale = max(abs(task.weight * quality.value(jobs)), 1e-300)
    G, n = len(jobs), task.first_free

    def priced(x: FloatArray) -> tuple[float, FloatArray]:
        e, B = np.exp(x.reshape(2, G))
        tried = jobs.with_(steps=e, batch=np.minimum(B, jobs.samples))
        slopes = quality.slopes(tried)
        value = task.weight * (quality.value(tried) + float(pull @ e)) + float(sample @ (e * B))
        of_e = e * (task.weight * (slopes.steps + pull) + sample * B)
        of_B = B * (task.weight * slopes.batch + sample * e)
        return value / scale, np.concatenate([of_e, of_B]) / scale

    low, high = (
        np.stack([np.full(G, float(limits[k])) for limits in (task.steps_range, task.batch_range)])
        for k in (0, 1)
    )
    now = np.clip(np.stack([choice.steps, choice.batch]), low, high)
    if n:
        now[:, :n] = low[:, :n] = high[:, :n] = np.stack([choice.steps, choice.batch])[:, :n]
    found: Any = minimize(
        priced,
        np.log(now.ravel()),
        jac=True,
        method="L-BFGS-B",
        bounds=np.log(np.stack([low.ravel(), high.ravel()], axis=1)),
        options={"maxiter": ITERATIONS, "ftol": 1e-10},
    )
    e, B = np.clip(np.exp(found.x.reshape(2, G)), low, high) if np.isfinite(found.x).all() else now
    frequency = costs.frequency_Hz[choice.device]
    frequency[:n] = choice.frequency_Hz[:n]
    return choice.with_(steps=e, batch=B, frequency_Hz=frequency)


def _without_labels(quality: Quality, jobs: TaskJobs) -> tuple[Quality, FloatArray]:
    """The quality without its label bias, and the slopes of that in the steps."""
    if not isinstance(quality, Calibrated) or quality.calibration.weights.label_bias == 0:
        return quality, np.zeros(len(jobs))
    weights = replace(quality.calibration.weights, label_bias=0.0)
    rest = replace(quality, calibration=replace(quality.calibration, weights=weights), labels=None)
    return rest, quality.slopes(jobs).steps - rest.slopes(jobs).steps
