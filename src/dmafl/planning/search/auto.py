"""`auto`: the best plan that the effort allows: descent, exact resources, whole numbers, local search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.planning.decision import TaskDecision, all_past, times_of, used_J
from dmafl.planning.effort import CutOff, Effort
from dmafl.planning.incumbent import Incumbent, better, incumbent_of, keeps_limits, order, share_gained
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.planning.resources.best_resources import solve_resources
from dmafl.planning.search.assignment import orders_to_try
from dmafl.planning.search.descent import BlockDescent, Candidate
from dmafl.planning.search.exhaustive import exhaustive, few_schedules
from dmafl.planning.search.least_energy import least_energy
from dmafl.planning.search.local_search import LimitPrices, search
from dmafl.planning.search.repair import fastest, whole_and_repaired

BATTERY_ROUNDS = 6
MOST_SCHEDULES = 1500
"""Schedules of a task up to which all are tried."""
SEARCHES = 6
"""How often local search and exact resources take turns."""
FIRST_SHARE = 0.3
"""Share of the effort left for the first search, before exact resources."""
DESCENT_TIME, BATTERY_TIME, SEARCH_TIME = 0.6, 0.7, 0.8
"""Shares of a time limit, if there is one, until which descents, prices of batteries and the first search end."""
ENOUGH, PATIENCE = 1e-5, 0
"""Relative gain of a turn below which it was in vain, and how many of these in a row are borne."""
LEAST_ROUNDS = 6
"""Rounds of starts with the least energy, where no other start keeps the limits."""
EXACT_JOBS = 4000
"""Jobs up to which the exact resources of a fixed schedule are computed."""


def auto(
    problem: Problem, effort: Effort, seed: int = 0, starts: Sequence[Sequence[TaskDecision]] = ()
) -> Incumbent:
    """The best whole decisions found; `starts` are further ones to begin from, e.g. those of a plan to be revised."""
    candidates = _candidates(problem, effort)
    candidates, prices = _within_batteries(problem, candidates, effort.hurried(BATTERY_TIME))
    relaxed: Sequence[TaskDecision] = [candidate.decision for candidate in candidates]
    apart = all(task.loss_model.judges_slots_apart for task in problem.tasks)
    if not apart and effort.leaves():  # where slots are judged apart, the descent is enough
        relaxed = search(problem, relaxed, effort.part(FIRST_SHARE).hurried(SEARCH_TIME), seed, prices=prices)
    best = _finish(problem, relaxed, effort, "descent")
    plain = best.plain  # few jobs may be left after a past: then another way from there is worth a try
    for given in starts:
        start = _finish(problem, given, effort, "start")
        best = _better(best, start)
        plain = min((each for each in (plain, start.plain) if each is not None), key=order)
    if best.incumbent.violation > 0:
        quickest = [fastest(problem, task, effort) for task in problem.tasks]
        best = _better(best, _finish(problem, quickest, effort, "fastest"))
    if few_schedules(problem, MOST_SCHEDULES) and effort.leaves():
        best = _better(best, _kept(exhaustive(problem, effort, best.incumbent.decisions), effort))
    found = _searched(problem, best, effort, seed)
    if any(task.past is not None for task in problem.tasks) and plain is not None and effort.leaves():
        moved = search(problem, plain.decisions, effort, seed + SEARCHES)
        found = better(found, incumbent_of(problem, moved))
    floors = any(task.fewest_slots for task in problem.tasks)  # least energy knows nothing of them
    return found if keeps_limits(found) or floors else _within_limits(problem, found, effort, seed)


def _within_limits(problem: Problem, found: Incumbent, effort: Effort, seed: int) -> Incumbent:
    """A plan from starts with the least energy, at least one of them, then others while effort is left."""
    best = _Finished(found)
    flights: list[list[int] | None] = [None]
    flights += [[count] * len(problem.tasks) for count in problem.tasks[0].flights]
    for number, in_flight in enumerate(flights * LEAST_ROUNDS):
        if keeps_limits(best.incumbent) or (number and not effort.leaves()):
            break
        start = least_energy(problem, effort, in_flight, number // len(flights))
        best = _better(best, _finish(problem, start, effort, "least energy"))
    return _searched(problem, best, effort, seed) if keeps_limits(best.incumbent) else best.incumbent


def _candidates(problem: Problem, effort: Effort) -> list[Candidate]:
    """The best of every task alone; each has its share of the time that is limited."""
    battery, count = np.zeros(problem.devices), len(problem.tasks)
    return [
        _best_of_task(problem, task, battery, effort.hurried(DESCENT_TIME * (j + 1) / count))
        for j, task in enumerate(problem.tasks)
    ]


def _searched(problem: Problem, best: _Finished, effort: Effort, seed: int) -> Incumbent:
    """Local search at the prices of limits and exact resources in turn; last, single whole steps within the limits."""
    in_vain = 0
    for number in range(SEARCHES):
        if best.prices is None or in_vain > PATIENCE or not effort.leaves():
            break
        moved = search(problem, best.exact, effort, seed + number, prices=best.prices)
        tried = _finish(problem, moved, effort, "search")
        gained = share_gained(best.incumbent.objective, tried.incumbent.objective)
        in_vain = 0 if gained > ENOUGH else in_vain + 1
        best = _better(best, tried)
    if effort.leaves():
        moved = search(problem, best.incumbent.decisions, effort, seed + SEARCHES)
        best = _better(best, _kept(incumbent_of(problem, moved), effort))
        effort.report("whole", best.incumbent)
    return best.incumbent


@dataclass(frozen=True, eq=False)
class _Finished:
    """Whole decisions, and where they come from: exact resources and the prices of limits there."""

    incumbent: Incumbent
    exact: tuple[TaskDecision, ...] = ()
    prices: LimitPrices | None = None
    plain: Incumbent | None = None
    """Whole decisions without exact resources."""


def _better(a: _Finished, b: _Finished) -> _Finished:
    return min(a, b, key=lambda finished: order(finished.incumbent))


def _best_of_task(problem: Problem, task: TaskProblem, battery: FloatArray, effort: Effort) -> Candidate:
    """The best number of jobs in flight and order: a start with each, then a descent from the best; for bounds, two."""
    if task.first_free == task.slots:
        return BlockDescent(problem, task, 1, battery).candidate(all_past(task))
    tried: list[tuple[BlockDescent, Candidate]] = []
    try:
        for in_flight, order_of_start in product(task.flights, orders_to_try(task)):
            if len(tried) > 1 and not effort.leaves(0.6):
                break
            descent = BlockDescent(problem, task, in_flight, battery, order=order_of_start, effort=effort)
            tried.append((descent, descent.run(rounds=0)))
        tried.sort(key=lambda pair: pair[0].rank(pair[1]))
        for descent, candidate in tried[: 2 if task.loss_model.judges_slots_apart else 1]:
            if effort.leaves(0.3):
                tried.append((descent, descent.run(candidate.decision)))
    except CutOff:
        if not tried:
            return BlockDescent(problem, task, 1, battery).candidate(fastest(problem, task))
    return min(tried, key=lambda pair: pair[0].rank(pair[1]))[1]


def _within_batteries(
    problem: Problem, candidates: list[Candidate], effort: Effort
) -> tuple[list[Candidate], LimitPrices]:
    """Raise the price of overdrawn batteries until none is, or it does not help; and the prices of all limits then."""
    battery = problem.world.devices.battery_J
    price = np.zeros(problem.devices)
    for _ in range(BATTERY_ROUNDS):
        over = used_J(problem, [candidate.decision for candidate in candidates]) / battery
        if (over <= 1.0).all() or not effort.leaves():
            break
        base = max(float(np.mean([task.price_of_J for task in problem.tasks])) * problem.c2, 1e-12)
        price = np.where(over > 1.0, np.maximum(price, 0.3 * base) * np.clip(over, 1.3, 4.0), price)
        try:
            candidates = [
                _again(problem, task, candidate, price, effort)
                for task, candidate in zip(problem.tasks, candidates, strict=True)
            ]
        except CutOff:
            break
    return candidates, LimitPrices(np.asarray([candidate.window_price for candidate in candidates]), price)


def _again(
    problem: Problem, task: TaskProblem, candidate: Candidate, battery_J: FloatArray, effort: Effort
) -> Candidate:
    """The candidate after another round with these prices of batteries."""
    if task.first_free == task.slots:
        return candidate
    descent = BlockDescent(problem, task, candidate.decision.in_flight, battery_J, effort=effort)
    descent.window_price = candidate.window_price
    return descent.run(candidate.decision, rounds=1)


def _finish(problem: Problem, relaxed: Sequence[TaskDecision], effort: Effort, stage: str) -> _Finished:
    """Exact resources at this schedule, then whole numbers."""
    incumbent, exact, prices = whole_and_repaired(problem, relaxed, effort), tuple(relaxed), None
    plain = incumbent
    effort.keep(incumbent)
    if sum(task.slots for task in problem.tasks) <= EXACT_JOBS:
        solved = solve_resources(problem, _kept_versions(problem, relaxed), effort)
        exact, prices = solved.decisions, LimitPrices(solved.window_prices, solved.battery_prices)
        incumbent = better(incumbent, whole_and_repaired(problem, exact, effort))
    effort.report(stage, incumbent)
    return replace(_kept(incumbent, effort), exact=exact, prices=prices, plain=plain)


def _kept(incumbent: Incumbent, effort: Effort) -> _Finished:
    """Choices that a cut-off leaves in hand."""
    effort.keep(incumbent)
    return _Finished(incumbent)


def _kept_versions(problem: Problem, decisions: Sequence[TaskDecision]) -> list[TaskDecision]:
    """The same with the versions that are really received."""
    return [
        decision.with_(version=times_of(task, decision).version)
        for task, decision in zip(problem.tasks, decisions, strict=True)
    ]
