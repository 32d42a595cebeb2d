"""A value that no plan can go below, from relaxations that can be proved (docs/planner-inside.md).

Tasks are bounded one by one: batteries and the CPU that they share do not bind.
"""

from __future__ import annotations

import numpy as np

from dmafl.planning.loss_models.job_costs import JobCosts
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.world.mobility import Static


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
    return task.loss_model.lower_bound(task.frame, job_costs(problem, task))


def job_costs(problem: Problem, task: TaskProblem) -> JobCosts:
    """What jobs of a task cost at least. The tables of transfers hold for devices that stay where they are."""
    who = task.usable
    known = float(isinstance(problem.world.mobility, Static))
    joule = task.price_of_J * problem.c2
    return JobCosts(
        upload=known * joule * problem.upload_J(task)[who],
        download=known * task.price_of_J * problem.c3 * problem.download_J(task)[who],
        upload_s=known * task.upload_s[who],
        download_s=known * task.download_s[who],
        sample=joule * problem.energy_per_work(task)[who],
        cycles=task.cycles[who],
        lowest_Hz=task.lowest_Hz[who],
        highest_Hz=np.maximum(problem.world.devices.frequency_max_Hz, task.lowest_Hz)[who],
        window_s=float(task.window_s[who].max()),
        most_in_flight=task.most_in_flight,
    )
