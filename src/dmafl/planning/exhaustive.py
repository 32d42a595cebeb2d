"""`exhaustive`: every schedule of a tiny problem, each with its best resources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from dmafl.errors import ShownAsIs, bad_input
from dmafl.planning.choice import Choice, cost_of, times_of
from dmafl.planning.descent import Candidate, Descent, middling
from dmafl.planning.found import Budget, Found, Progress, better, found_of, order
from dmafl.planning.local_search import search
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.planning.repair import repaired, whole_and_repaired
from dmafl.planning.resources import solve_resources

MOST_SCHEDULES = 20_000
MOST_SLOTS = 14
MOST_RANKED = 80
"""Schedules that get their own resources where the work of others is known."""
WORK_MOVES = 25
"""Changes of work tried per job around exact resources."""
MARGIN = 0.005
"""Quick resources may be worse than exact ones by this much more than twice the most seen so far; schedules that could
not beat the best even so are left out."""


def few_schedules(problem: Problem, most: int) -> bool:
    """Whether no task has more schedules than that; each slot at least doubles them where there is a choice at all."""
    if any(task.slots > MOST_SLOTS for task in problem.tasks):
        return False
    return all(sum(1 for _ in schedules(task, most + 1)) <= most for task in problem.tasks)


def exhaustive(problem: Problem, budget: Budget, known: Sequence[Choice] = ()) -> Found:
    """The best whole choices over all schedules.

    Tasks are searched one by one, since only batteries join them; where those are overdrawn together, work is cut. With
    `known` choices, schedules are first ranked with the work of these, and only the best of them get their own.
    """
    if not few_schedules(problem, MOST_SCHEDULES):
        raise bad_input(
            "solver",
            f"must have at most {MOST_SCHEDULES:,} schedules a task for `exhaustive`",
            ShownAsIs("more"),
            "Use the solver `auto`.",
        )
    best = [
        _best_of_task(problem, task, budget, known[j] if known else None)
        for j, task in enumerate(problem.tasks)
    ]
    return found_of(problem, repaired(problem, best))


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


def _best_of_task(problem: Problem, task: TaskProblem, budget: Budget, known: Choice | None) -> Choice:
    every = list(schedules(task, MOST_SCHEDULES + 1))
    if known is not None:
        costs = [cost_of(problem, task, _with_work_of(known, *one)).total for one in every]
        every = [every[k] for k in np.argsort(costs, kind="stable")[:MOST_RANKED]]
    quick = [_quick(problem, task, device, version) for device, version in every]
    quick.sort(key=lambda one: (max(one.late_s, 0.0) > 0.05 * float(task.window_s.min()), one.cost))
    alone = replace(problem, tasks=(task,))
    best: Found | None = None
    most_gained = 0.0
    for one in quick:
        if best is not None:
            hopeless = one.cost * (1.0 - 2.0 * most_gained - MARGIN) > best.objective
            if (hopeless and best.violation == 0) or budget.left <= 0:
                break
        found = _exact(alone, task, one, budget)
        if one.late_s <= 0:
            most_gained = max(most_gained, 1.0 - found.objective / one.cost)
        if best is None or better(found, best) is found:
            best = found
            budget.watch(Progress(budget.used, "exhaustive", found.objective, found.violation))
    assert best is not None
    return best.choices[0]


def _exact(alone: Problem, task: TaskProblem, one: Candidate, budget: Budget) -> Found:
    """A schedule with its exact resources in whole numbers, and single steps around them."""
    choice = one.choice.with_(version=times_of(task, one.choice).version)
    much = choice.with_(steps=np.full(task.slots, task.steps_range[1]))
    starts = [[choice], *(list(solve_resources(alone, [start]).choices) for start in (choice, much))]
    best = min((whole_and_repaired(alone, start) for start in starts), key=order)
    moved = search(alone, best.choices, budget, 0, schedule_too=False, moves_a_job=WORK_MOVES)
    return better(best, found_of(alone, moved))


def _with_work_of(known: Choice, device: np.ndarray, version: np.ndarray) -> Choice:
    """A schedule with steps and batches of its slots as known, and frequencies of its devices."""
    frequency = {int(i): float(f) for i, f in zip(known.device, known.frequency_Hz, strict=True)}
    usual = float(np.median(known.frequency_Hz))
    own = np.asarray([frequency.get(int(i), usual) for i in device])
    return Choice(device, version, known.steps, known.batch, own)


def _quick(problem: Problem, task: TaskProblem, device: np.ndarray, version: np.ndarray) -> Candidate:
    """The schedule with resources that answer prices."""
    choice = middling(task, device, version)
    descent = Descent(problem, task, choice.in_flight, np.zeros(problem.devices))
    return descent.candidate(descent.meet_window(choice))
