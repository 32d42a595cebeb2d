"""Plans of which one half is given: orders for drawn resources (`dma-fl-nr`), resources for a given order (`-ns`)."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from dmafl.base.errors import Problem as BrokenLimit
from dmafl.planning.decision import GivenWork, TaskDecision
from dmafl.planning.effort import UNLIMITED, Effort
from dmafl.planning.incumbent import Incumbent, incumbent_of
from dmafl.planning.infeasibility import Infeasible
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.planning.resources.best_resources import solve_resources
from dmafl.planning.search.assignment import orders_to_try
from dmafl.planning.search.descent import BlockDescent, Candidate
from dmafl.planning.search.repair import whole_and_repaired
from dmafl.schedule.jobs import Schedule
from dmafl.schemes.draws import Drawn


def orders_for(problem: Problem, drawn: Drawn, effort: Effort) -> Incumbent:
    """The best order of devices that keep their drawn steps, batches and frequencies."""
    return incumbent_of(problem, [_order(problem, task, drawn, effort) for task in problem.tasks])


def _order(problem: Problem, task: TaskProblem, drawn: Drawn, effort: Effort) -> TaskDecision:
    own = GivenWork(
        np.minimum(drawn.steps[:, task.number], task.settings.steps_max).astype(np.float64),
        np.minimum(drawn.batch[:, task.number], task.settings.samples_at_start).astype(np.float64),
        drawn.frequency_Hz[:, task.number],
    )
    found: list[Candidate] = []
    for in_flight, order in product(task.flights, orders_to_try(task)):
        if found and not effort.leaves():
            break
        descent = BlockDescent(problem, task, in_flight, np.zeros(problem.devices), own, order, effort)
        found.append(descent.run())
    best = min(found, key=lambda one: (max(one.late_s, 0.0), one.cost))
    return best.decision


def resources_for(
    problem: Problem, schedule: Schedule, effort: Effort = UNLIMITED
) -> tuple[Problem, Incumbent]:
    """The best resources for the jobs (device, task, version, slot) of `schedule`, whatever its staleness.

    The problem comes back with room for that staleness: only plans of our own making are held to K.
    """
    decisions, tasks = [], []
    for task in problem.tasks:
        given = schedule.of_task(task.number)
        if len(given) < task.slots:
            raise Infeasible(_unfinished(task, len(given)))
        own = TaskDecision.of(given)
        stale = own.in_flight - 1
        if stale > task.settings.max_staleness:
            task = replace(task, settings=task.settings.model_copy(update={"max_staleness": stale}))
        tasks.append(task)
        decisions.append(
            own.with_(
                steps=np.clip(own.steps, *task.steps_range),
                batch=np.clip(own.batch, *task.batch_range),
                frequency_Hz=np.clip(
                    own.frequency_Hz, task.lowest_Hz[own.device], task.highest_Hz[own.device]
                ),
            )
        )
    roomy = replace(problem, tasks=tuple(tasks))
    solved = solve_resources(roomy, decisions, effort)
    return roomy, whole_and_repaired(roomy, solved.decisions, effort)


def _unfinished(task: TaskProblem, done: int) -> BrokenLimit:
    return BrokenLimit(
        f"tasks.{task.name}.window_s",
        f"must leave time and energy for {task.slots} aggregations in the order of fedasync",
        f"{done} of them",
        "Raise window_s or battery_J, lower slots or idle_max_s, or plan with dma-fl, which finds its own order.",
    )
