"""`exhaustive`: every schedule of a tiny problem, each with its best resources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.planning.decision import TaskDecision, cost_of, times_of
from dmafl.planning.effort import CutOff, Effort
from dmafl.planning.effort_costs import Work
from dmafl.planning.incumbent import Incumbent, better, incumbent_of, order, share_gained
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.planning.resources.best_resources import solve_resources
from dmafl.planning.search.descent import BlockDescent, Candidate, middling
from dmafl.planning.search.local_search import search
from dmafl.planning.search.repair import fastest, repaired, whole_and_repaired

MOST_SCHEDULES = 20_000
MOST_SLOTS = 14
MOST_RANKED = 80
"""Schedules that get their own resources where the work of others is known."""
WORK_MOVES = 25
"""Changes of work tried per job around exact resources."""
LAST_SCHEDULE = 0.9
"""Share of a time limit after which no further schedule is tried."""
MARGIN = 0.005
"""Quick resources may be worse than exact ones by this much more than twice the most seen so far; schedules that could
not beat the best even so are left out."""


def few_schedules(problem: Problem, most: int) -> bool:
    """Whether no task has more schedules than that; each slot at least doubles them where there is a choice at all."""
    if any(task.slots > MOST_SLOTS for task in problem.tasks):
        return False
    return all(sum(1 for _ in schedules(task, most + 1)) <= most for task in problem.tasks)


def exhaustive(problem: Problem, effort: Effort, known: Sequence[TaskDecision] = ()) -> Incumbent:
    """The best whole decisions over all schedules.

    Tasks are searched one by one, since only batteries join them; where those are overdrawn together, work is cut. With
    `known` decisions, schedules are first ranked with the work of these, and only the best of them get their own.
    """
    if not few_schedules(problem, MOST_SCHEDULES):
        raise bad_input(
            "solver",
            f"must have at most {MOST_SCHEDULES:,} schedules a task for `exhaustive`",
            ShownAsIs("more"),
            "Use the solver `auto`.",
        )
    best = [
        _best_of_task(
            problem,
            task,
            effort.hurried(LAST_SCHEDULE * (j + 1) / len(problem.tasks)),
            known[j] if known else None,
        )
        for j, task in enumerate(problem.tasks)
    ]
    return incumbent_of(problem, repaired(problem, best, effort))


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


def _best_of_task(
    problem: Problem, task: TaskProblem, effort: Effort, known: TaskDecision | None
) -> TaskDecision:
    """The best of all schedules; when cut off, the best so far."""
    quick: list[Candidate] = []
    best: list[Incumbent] = []
    try:
        for device, version in _to_try(problem, task, effort, known):
            quick.append(_quick(problem, task, device, version, effort))
        quick.sort(key=lambda candidate: _rank(task, candidate))
        _all_exact(problem, task, quick, effort, best)
    except CutOff:
        if not best:
            return (
                min(quick, key=lambda candidate: _rank(task, candidate)).decision
                if quick
                else fastest(problem, task)
            )
    return best[-1].decisions[0]


def _to_try(
    problem: Problem, task: TaskProblem, effort: Effort, known: TaskDecision | None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """All schedules; the best of them with the work of `known`, if it is."""
    every = list(schedules(task, MOST_SCHEDULES + 1))
    if known is None:
        return every
    costs = []
    for schedule in every:
        effort.spend(Work.EVALUATION, problem.quality, task.slots)
        costs.append(cost_of(problem, task, _with_work_of(known, *schedule)).total)
    return [every[k] for k in np.argsort(costs, kind="stable")[:MOST_RANKED]]


def _rank(task: TaskProblem, candidate: Candidate) -> tuple[bool, float]:
    return max(candidate.late_s, 0.0) > 0.05 * float(task.window_s.min()), candidate.cost


def _all_exact(
    problem: Problem, task: TaskProblem, quick: list[Candidate], effort: Effort, best: list[Incumbent]
) -> None:
    """Exact resources for one schedule after another; `best` grows by everyone that is better than all before."""
    alone = replace(problem, tasks=(task,))
    most_gained = 0.0
    for candidate in quick:
        if best:
            hopeless = candidate.cost * (1.0 - 2.0 * most_gained - MARGIN) > best[-1].objective
            if (hopeless and best[-1].violation == 0) or not effort.leaves():
                break
        exact = _exact(alone, task, candidate, effort)
        if candidate.late_s <= 0:
            most_gained = max(most_gained, share_gained(candidate.cost, exact.objective))
        if not best or better(exact, best[-1]) is exact:
            best.append(exact)
            effort.report("exhaustive", exact)


def _exact(alone: Problem, task: TaskProblem, candidate: Candidate, effort: Effort) -> Incumbent:
    """A schedule with its exact resources in whole numbers, and single steps around them."""
    decision = candidate.decision.with_(version=times_of(task, candidate.decision).version)
    much = decision.with_(steps=np.full(task.slots, task.steps_range[1]))
    starts = [
        [decision],
        *(list(solve_resources(alone, [start], effort).decisions) for start in (decision, much)),
    ]
    best = min((whole_and_repaired(alone, start, effort) for start in starts), key=order)
    moved = search(alone, best.decisions, effort, 0, schedule_too=False, moves_a_job=WORK_MOVES)
    return better(best, incumbent_of(alone, moved))


def _with_work_of(known: TaskDecision, device: np.ndarray, version: np.ndarray) -> TaskDecision:
    """A schedule with steps and batches of its slots as known, and frequencies of its devices."""
    frequency = {int(i): float(f) for i, f in zip(known.device, known.frequency_Hz, strict=True)}
    usual = float(np.median(known.frequency_Hz))
    frequencies = np.asarray([frequency.get(int(i), usual) for i in device])
    return TaskDecision(device, version, known.steps, known.batch, frequencies)


def _quick(
    problem: Problem, task: TaskProblem, device: np.ndarray, version: np.ndarray, effort: Effort
) -> Candidate:
    """The schedule with resources that answer prices."""
    decision = middling(task, device, version)
    descent = BlockDescent(problem, task, decision.in_flight, np.zeros(problem.devices), effort=effort)
    return descent.candidate(descent.meet_window(decision))
