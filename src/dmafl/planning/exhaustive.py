"""`exhaustive`: every schedule of a tiny problem, each with its best resources."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dmafl.errors import ShownAsIs, bad_input
from dmafl.planning.auto import Budget, Found, Progress, found_of
from dmafl.planning.choice import Choice, times_of
from dmafl.planning.descent import Candidate, Descent
from dmafl.planning.integers import whole
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.planning.repair import repaired
from dmafl.planning.resources import solve_resources

MOST_SCHEDULES = 20_000
MARGIN = 0.05
"""Schedules whose quick resources cost at most this much more than the best are solved exactly. Exact resources were
never more than 1.5% below quick ones (benchmarks/planner.py prints the largest difference it meets)."""


def exhaustive(problem: Problem, budget: Budget) -> Found:
    """The best whole choices over all schedules. Tasks are searched one by one: only batteries join them."""
    best: list[Choice] = []
    for task in problem.tasks:
        count = sum(1 for _ in schedules(task, MOST_SCHEDULES + 1))
        if count > MOST_SCHEDULES:
            raise bad_input(
                "solver",
                f"must have at most {MOST_SCHEDULES:,} schedules a task for `exhaustive`",
                ShownAsIs(f"more for {task.slots} slots and {len(task.usable)} devices"),
                "Use the solver `auto`.",
            )
        best.append(_best_of_task(problem, task, budget))
    found = found_of(problem, repaired(problem, best))
    if found.violation > 0 or any(a is not b for a, b in zip(best, found.choices, strict=True)):
        raise bad_input(
            "solver",
            "must not have batteries that join the tasks for `exhaustive`",
            ShownAsIs("a battery that the best schedules overdraw together"),
            "Use the solver `auto`.",
        )
    return found


def schedules(task: TaskProblem, most: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Devices and versions of all schedules that obey rules S0 to S2, at most so many."""
    left = [most]

    def further(
        device: list[int], version: list[int], last: dict[int, int]
    ) -> Iterator[tuple[list[int], list[int]]]:
        g = len(device)
        if g == task.slots:
            left[0] -= 1
            yield device, version
            return
        for i in task.usable.tolist():
            for v in range(max(0, g - task.most_stale, last.get(i, -1) + 1), g + 1):
                if left[0] <= 0:
                    return
                yield from further([*device, i], [*version, v], last | {i: g})

    for device, version in further([], [], {}):
        yield np.asarray(device), np.asarray(version)


def _best_of_task(problem: Problem, task: TaskProblem, budget: Budget) -> Choice:
    quick = [
        _quick(problem, task, device, version) for device, version in schedules(task, MOST_SCHEDULES + 1)
    ]
    in_time = [one for one in quick if one.late_s <= 0] or quick
    limit = min(one.cost for one in in_time)
    kept = sorted((one for one in quick if one.cost <= limit * (1 + MARGIN)), key=lambda one: one.cost)
    best: Found | None = None
    alone = _alone(problem, task)
    for one in kept:
        choice = one.choice.with_(version=times_of(task, one.choice).version)
        exact = solve_resources(alone, [choice])
        if best is not None and exact.objective >= best.objective:
            continue
        found = found_of(alone, repaired(alone, whole(alone, list(exact.choices))))
        if best is None or (found.violation, found.objective) < (best.violation, best.objective):
            best = found
            budget.watch(Progress(budget.used, "exhaustive", found.objective, found.violation))
    assert best is not None
    return best.choices[0]


def _quick(problem: Problem, task: TaskProblem, device: np.ndarray, version: np.ndarray) -> Candidate:
    """The schedule with resources that answer prices."""
    G = task.slots
    e, B = np.sqrt(np.prod(task.steps_range)), np.sqrt(np.prod(task.batch_range))
    choice = Choice(device, version, np.full(G, e), np.full(G, B), task.highest_Hz[device])
    stale = int((np.arange(G) - version).max())
    descent = Descent(problem, task, stale + 1, np.zeros(problem.devices))
    return descent.candidate(descent.respond(choice))


def _alone(problem: Problem, task: TaskProblem) -> Problem:
    """The problem of one task."""
    from dataclasses import replace

    return replace(problem, tasks=(task,))
