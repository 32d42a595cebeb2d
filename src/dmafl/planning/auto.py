"""`auto`: the best plan that the time allows: descent, exact resources, whole numbers, local search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from dmafl.planning.assignment import orders_to_try
from dmafl.planning.choice import Choice, all_past, times_of, used_J
from dmafl.planning.descent import Candidate, Descent
from dmafl.planning.exhaustive import exhaustive, few_schedules
from dmafl.planning.found import Budget, Found, Progress, better, found_of, order
from dmafl.planning.local_search import LimitPrices, search
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.planning.repair import fastest, whole_and_repaired
from dmafl.planning.resources import solve_resources
from dmafl.randomness import FloatArray

BATTERY_ROUNDS = 6
MOST_SCHEDULES = 1500
"""Schedules of a task up to which all are tried."""
SEARCHES = 6
"""How often local search and exact resources take turns."""
FIRST_SHARE = 0.3
"""Share of the time left for the first search, before exact resources."""
ENOUGH, PATIENCE = 1e-5, 0
"""Relative gain of a turn below which it was in vain, and how many of these in a row are borne."""
EXACT_JOBS = 4000
"""Jobs up to which the exact resources of a fixed schedule are computed."""


def auto(problem: Problem, budget: Budget, seed: int = 0, starts: Sequence[Sequence[Choice]] = ()) -> Found:
    """The best whole choices found; `starts` are further ones to begin from, e.g. those of a plan to be revised."""
    battery = np.zeros(problem.devices)
    candidates = [_best_of_task(problem, task, battery, budget) for task in problem.tasks]
    candidates, prices = _within_batteries(problem, candidates, budget)
    relaxed: Sequence[Choice] = [one.choice for one in candidates]
    if problem.quality == "calibrated" and budget.left > 0:  # for bounds, slots apart, the descent is enough
        relaxed = search(problem, relaxed, budget.part(FIRST_SHARE), seed, prices=prices)
    best = _finish(problem, relaxed, budget, "descent")
    for given in starts:
        best = _better(best, _finish(problem, given, budget, "start"))
    if best.found.violation > 0:
        quickest = [fastest(problem, task) for task in problem.tasks]
        best = _better(best, _finish(problem, quickest, budget, "fastest"))
    if few_schedules(problem, MOST_SCHEDULES) and budget.left > 0:
        best = _better(best, _Finished(exhaustive(problem, budget, best.found.choices)))
    return _searched(problem, best, budget, seed)


def _searched(problem: Problem, best: _Finished, budget: Budget, seed: int) -> Found:
    """Local search at the prices of limits and exact resources in turn; last, single whole steps within the limits."""
    in_vain = 0
    for number in range(SEARCHES):
        if budget.left <= 0 or best.prices is None or in_vain > PATIENCE:
            break
        moved = search(problem, best.exact, budget, seed + number, prices=best.prices)
        tried = _finish(problem, moved, budget, "search")
        gained = 1.0 - tried.found.objective / best.found.objective
        in_vain = 0 if gained > ENOUGH else in_vain + 1
        best = _better(best, tried)
    if budget.left > 0:
        moved = search(problem, best.found.choices, budget, seed + SEARCHES)
        best = _better(best, _Finished(found_of(problem, moved)))
        budget.watch(Progress(budget.used, "whole", best.found.objective, best.found.violation))
    return best.found


@dataclass(frozen=True, eq=False)
class _Finished:
    """Whole choices, and where they come from: exact resources and the prices of limits there."""

    found: Found
    exact: tuple[Choice, ...] = ()
    prices: LimitPrices | None = None


def _better(a: _Finished, b: _Finished) -> _Finished:
    return min(a, b, key=lambda one: order(one.found))


def _without_past(problem: Problem) -> bool:
    return all(task.past is None for task in problem.tasks)


def _best_of_task(problem: Problem, task: TaskProblem, battery: FloatArray, budget: Budget) -> Candidate:
    """The best number of jobs in flight and order: a start with each, then a descent from the best; for bounds, two."""
    if task.first_free == task.slots:
        descent = Descent(problem, task, 1, battery)
        return descent.candidate(all_past(task))
    tried: list[tuple[Descent, Candidate]] = []
    for in_flight, order_of_start in product(task.flights, orders_to_try(task)):
        if budget.left < 0.6 * budget.seconds and len(tried) > 1:
            break
        descent = Descent(problem, task, in_flight, battery, order=order_of_start)
        tried.append((descent, descent.run(rounds=0)))
    tried.sort(key=lambda one: one[0].rank(one[1]))
    best, least = tried[0][1], tried[0][0].rank(tried[0][1])
    for descent, candidate in tried[: 1 if problem.quality == "calibrated" else 2]:
        if budget.left > 0.3 * budget.seconds:
            found = descent.run(candidate.choice)
            if descent.rank(found) < least:
                best, least = found, descent.rank(found)
    return best


def _within_batteries(
    problem: Problem, candidates: list[Candidate], budget: Budget
) -> tuple[list[Candidate], LimitPrices]:
    """Raise the price of overdrawn batteries until none is, or it does not help; and the prices of all limits then."""
    battery = problem.world.devices.battery_J
    price = np.zeros(problem.devices)
    for _ in range(BATTERY_ROUNDS):
        over = used_J(problem, [one.choice for one in candidates]) / battery
        if (over <= 1.0).all() or budget.left <= 0:
            break
        base = max(float(np.mean([task.price_of_J for task in problem.tasks])) * problem.c2, 1e-12)
        price = np.where(over > 1.0, np.maximum(price, 0.3 * base) * np.clip(over, 1.3, 4.0), price)
        for j, task in enumerate(problem.tasks):
            if task.first_free == task.slots:
                continue
            descent = Descent(problem, task, candidates[j].choice.in_flight, price)
            descent.window_price = candidates[j].window_price
            candidates[j] = descent.run(candidates[j].choice, rounds=1)
    return candidates, LimitPrices(np.asarray([one.window_price for one in candidates]), price)


def _finish(problem: Problem, relaxed: Sequence[Choice], budget: Budget, stage: str) -> _Finished:
    """Exact resources at this schedule, then whole numbers."""
    found, exact, prices = whole_and_repaired(problem, relaxed), tuple(relaxed), None
    if _without_past(problem) and sum(task.slots for task in problem.tasks) <= EXACT_JOBS:
        solved = solve_resources(problem, _kept_versions(problem, relaxed))
        exact, prices = solved.choices, LimitPrices(solved.window_prices, solved.battery_prices)
        found = better(found, whole_and_repaired(problem, exact))
    budget.watch(Progress(budget.used, stage, found.objective, found.violation))
    return _Finished(found, exact, prices)


def _kept_versions(problem: Problem, choices: Sequence[Choice]) -> list[Choice]:
    """The same with the versions that are really received."""
    return [
        choice.with_(version=times_of(task, choice).version)
        for task, choice in zip(problem.tasks, choices, strict=True)
    ]
