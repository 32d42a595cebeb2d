"""The best steps and batches of a task at given prices; who does them and when is held."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.planning.decision import TaskDecision
from dmafl.planning.effort import UNLIMITED, Effort
from dmafl.planning.effort_costs import Work
from dmafl.planning.problem import TaskProblem
from dmafl.planning.search.prices import UnitCosts
from dmafl.theory.jobs import TaskJobs

ITERATIONS = 60
TOLERANCE = 1e-6
"""Relative change of the priced loss at which the search ends: exact resources come later."""


def best_work(
    task: TaskProblem,
    decision: TaskDecision,
    jobs: TaskJobs,
    costs: UnitCosts,
    slow_slopes: FloatArray,
    effort: Effort = UNLIMITED,
) -> TaskDecision:
    """Steps and batches that minimise loss plus cost of samples, at the devices' best frequencies.

    At given steps the best batch has a closed form, sqrt(what noise costs / price of a sample). What is slow to compute
    of a loss is taken as linear in the steps, with `LossModel.slow_slopes`. Jobs of the past stay as they are.
    """
    from scipy.optimize import minimize

    loss_model = task.loss_model.without_slow_part()
    sample = costs.sample[decision.device]
    n = task.first_free
    past = np.arange(len(jobs)) < n
    least, most = task.batch_range
    largest = np.minimum(most, jobs.samples)

    def with_batch(e: FloatArray) -> TaskJobs:
        at = jobs.with_(steps=e)
        best = np.sqrt(task.weight * loss_model.noise_weights(at) / np.maximum(sample, 1e-150))
        batch = np.minimum(np.maximum(best, least), largest)
        return at.with_(batch=np.where(past, jobs.batch, batch))

    def priced(x: FloatArray) -> tuple[float, FloatArray]:
        effort.spend(Work.RESPONSE, loss_model.name, len(jobs))
        at = with_batch(np.exp(x))
        e, slopes = at.steps, loss_model.slopes(at)
        value = task.weight * (slopes.value + float(slow_slopes @ e)) + float(sample @ (e * at.batch))
        of_e = e * (task.weight * (slopes.steps + slow_slopes) + sample * at.batch)
        return value / scale, of_e / scale

    low, high = (np.where(past, decision.steps, limit) for limit in task.steps_range)
    now = np.clip(decision.steps, low, high)
    scale = max(abs(task.weight * loss_model.slopes(with_batch(now)).value), 1e-300)
    result: Any = minimize(
        priced,
        np.log(now),
        jac=True,
        method="L-BFGS-B",
        bounds=np.log(np.stack([low, high], axis=1)),
        options={"maxiter": ITERATIONS, "ftol": TOLERANCE},
    )
    e = np.clip(np.exp(result.x), low, high) if np.isfinite(result.x).all() else now
    batch, frequency = with_batch(e).batch, costs.frequency_Hz[decision.device]
    batch[:n], frequency[:n] = decision.batch[:n], decision.frequency_Hz[:n]
    return decision.with_(steps=e, batch=batch, frequency_Hz=frequency)
