"""A value that no plan can go below, from relaxations that can be proved (docs/planner.md).

Every slot gets its cheapest transfers, every sample the cheapest computation at the lowest frequency, models are always
fresh, devices of no dissimilarity, windows, batteries and the CPU do not bind. What is left is how much work to do.
"""

from __future__ import annotations

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.planning.problem import Problem, TaskProblem


def lower_bound(problem: Problem) -> float | None:
    """A lower bound of the objective; None where the loss model proves none, e.g. if drift helps."""
    parts = [_of_task(problem, task) for task in problem.tasks]
    return (
        None
        if any(part is None for part in parts)
        else float(sum(part for part in parts if part is not None))
    )


def _of_task(problem: Problem, task: TaskProblem) -> float | None:
    if task.past is not None:
        return None
    joule = task.price_of_J * problem.c2 * problem.energy_per_work(task) * task.lowest_Hz**2
    sample_cost = float(joule[task.usable].min())  # of the cheapest sample
    rest = task.loss_model.lower_bound(task.frame, sample_cost)
    return None if rest is None else float(_cheapest_transfers(problem, task).sum()) + rest


def _cheapest_transfers(problem: Problem, task: TaskProblem) -> FloatArray:
    """Per slot the least that an uplink and any downlink of a version it may receive cost, (G,)."""
    up = task.price_of_J * problem.c2 * problem.upload_J(task)[task.usable].min(axis=0)
    down = task.price_of_J * problem.c3 * problem.download_J(task)[task.usable].min(axis=0)
    stale = task.most_stale
    padded = np.concatenate([np.full(stale, np.inf), down])
    return np.asarray(up + np.lib.stride_tricks.sliding_window_view(padded, stale + 1).min(axis=1))
