"""Plans of which one half is given: orders for given resources, resources for a given order."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.base.errors import Problem as BrokenLimit
from dmafl.planning.decision import GivenWork, TaskDecision
from dmafl.planning.effort import UNLIMITED, Effort
from dmafl.planning.incumbent import Incumbent, incumbent_of
from dmafl.planning.infeasible import Infeasible
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.planning.resources.best_resources import solve_resources
from dmafl.planning.search.assignment import orders_to_try
from dmafl.planning.search.descent import BlockDescent, Candidate
from dmafl.planning.search.repair import whole_and_repaired
from dmafl.schedule.jobs import Schedule


def orders_for(
    problem: Problem, steps: IntArray, batch: IntArray, frequency_Hz: FloatArray, effort: Effort
) -> Incumbent:
    """The best order of devices that keep their steps, batches and frequencies, each of shape (I, J)."""
    decisions = []
    for task in problem.tasks:
        work = GivenWork(
            np.minimum(steps[:, task.number], task.settings.steps_max).astype(np.float64),
            np.minimum(batch[:, task.number], task.settings.samples_at_start).astype(np.float64),
            frequency_Hz[:, task.number],
        )
        decisions.append(_order(problem, task, work, effort))
    return incumbent_of(problem, decisions)


def _order(problem: Problem, task: TaskProblem, work: GivenWork, effort: Effort) -> TaskDecision:
    tried: list[Candidate] = []
    for in_flight, order in product(task.flights, orders_to_try(task)):
        if tried and not effort.leaves():
            break
        descent = BlockDescent(problem, task, in_flight, np.zeros(problem.devices), work, order, effort)
        tried.append(descent.run())
    best = min(tried, key=lambda candidate: (max(candidate.late_s, 0.0), candidate.cost))
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
        decision = TaskDecision.of(given)
        stale = decision.in_flight - 1
        if stale > task.settings.max_staleness:
            task = replace(task, settings=task.settings.model_copy(update={"max_staleness": stale}))
        tasks.append(task)
        decisions.append(
            decision.with_(
                steps=np.clip(decision.steps, *task.steps_range),
                batch=np.clip(decision.batch, *task.batch_range),
                frequency_Hz=np.clip(
                    decision.frequency_Hz, task.lowest_Hz[decision.device], task.highest_Hz[decision.device]
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
