"""`auto`: the best plan that the time allows: descent, exact resources, whole numbers, local search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dmafl.planning.choice import Choice, all_past, times_of, used_J
from dmafl.planning.descent import Candidate, Descent
from dmafl.planning.exhaustive import exhaustive, few_schedules
from dmafl.planning.found import Budget, Found, Progress, better, found_of, order
from dmafl.planning.local_search import search
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.planning.repair import fastest, whole_and_repaired
from dmafl.planning.resources import solve_resources
from dmafl.planning.sca import sca
from dmafl.randomness import FloatArray

BATTERY_ROUNDS = 6
MOST_SCHEDULES = 1500
"""Schedules of a task up to which all are tried."""
SCA_JOBS = 40
"""Jobs up to which `sca` is another start: it takes seconds there."""
SCA_JOBS_OF_BOUNDS, SCA_S = 120, 15.0
"""The same where the quality is a bound, and the time that must be left [s]."""
SEARCHES = 6
"""How often local search and exact resources take turns."""
EXACT_JOBS = 4000
"""Jobs up to which the exact resources of a fixed schedule are computed."""


def auto(problem: Problem, budget: Budget, seed: int = 0, starts: Sequence[Sequence[Choice]] = ()) -> Found:
    """The best whole choices found; `starts` are further ones to begin from, e.g. those of a plan to be revised."""
    battery = np.zeros(problem.devices)
    candidates = [_best_of_task(problem, task, battery, budget) for task in problem.tasks]
    candidates = _within_batteries(problem, candidates, budget)
    relaxed = [one.choice for one in candidates]
    best = _finish(problem, relaxed, budget, "descent")
    for given in starts:
        best = better(best, _finish(problem, given, budget, "start"))
    if best.violation > 0:
        quickest = [fastest(problem, task) for task in problem.tasks]
        best = better(best, _finish(problem, quickest, budget, "fastest"))
    if few_schedules(problem, MOST_SCHEDULES) and budget.left > 0:
        best = better(best, exhaustive(problem, budget, best.choices))
    if _sca_is_quick(problem, budget):
        best = better(best, _finish(problem, sca(problem, seed=seed).choices, budget, "sca"))
    for number in range(SEARCHES):
        if budget.left <= 0:
            break
        moved = found_of(problem, search(problem, best.choices, budget, seed + number))
        improved = better(best, moved) is moved and moved.objective < best.objective
        best = better(best, moved)
        budget.watch(Progress(budget.used, "search", best.objective, best.violation))
        if not improved or budget.left <= 0:
            break
        best = better(best, _finish(problem, best.choices, budget, "resources"))
    return best


def _sca_is_quick(problem: Problem, budget: Budget) -> bool:
    """Whether there is time for `sca` as another start; the label bias makes it slow."""
    jobs = sum(task.slots for task in problem.tasks)
    if not _without_past(problem):
        return False
    if jobs <= SCA_JOBS:
        return budget.left > 0
    return problem.quality != "calibrated" and jobs <= SCA_JOBS_OF_BOUNDS and budget.left > SCA_S


def _without_past(problem: Problem) -> bool:
    return all(task.past is None for task in problem.tasks)


def _best_of_task(problem: Problem, task: TaskProblem, battery: FloatArray, budget: Budget) -> Candidate:
    """The best number of jobs in flight: a short descent each, then a long one for the best two."""
    if task.first_free == task.slots:
        descent = Descent(problem, task, 1, battery)
        return descent.candidate(all_past(task))
    tried: list[tuple[Descent, Candidate]] = []
    for in_flight in task.flights:
        if budget.left < 0.6 * budget.seconds and len(tried) > 1:
            break
        descent = Descent(problem, task, in_flight, battery)
        tried.append((descent, descent.run(rounds=1)))
    tried.sort(key=lambda one: _rank(one[1], task))
    for k, (descent, candidate) in enumerate(tried[:2]):
        if budget.left > 0.3 * budget.seconds:
            tried[k] = (descent, min(candidate, descent.run(candidate.choice), key=lambda c: _rank(c, task)))
    return min((candidate for _, candidate in tried), key=lambda c: _rank(c, task))


def _rank(candidate: Candidate, task: TaskProblem) -> tuple[float, float]:
    """Those within their window first, then by cost."""
    return max(candidate.late_s / float(task.window_s.min()) - 0.02, 0.0), candidate.cost


def _within_batteries(problem: Problem, candidates: list[Candidate], budget: Budget) -> list[Candidate]:
    """Raise the price of overdrawn batteries until none is, or it does not help."""
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
    return candidates


def _finish(problem: Problem, relaxed: Sequence[Choice], budget: Budget, stage: str) -> Found:
    """Exact resources at this schedule, then whole numbers."""
    exact = list(relaxed)
    if _without_past(problem) and sum(task.slots for task in problem.tasks) <= EXACT_JOBS:
        solved = solve_resources(problem, _kept_versions(problem, relaxed))
        exact = list(solved.choices)
    found = min((whole_and_repaired(problem, one) for one in (relaxed, exact)), key=order)
    budget.watch(Progress(budget.used, stage, found.objective, found.violation))
    return found


def _kept_versions(problem: Problem, choices: Sequence[Choice]) -> list[Choice]:
    """The same with the versions that are really received."""
    return [
        choice.with_(version=times_of(task, choice).version)
        for task, choice in zip(problem.tasks, choices, strict=True)
    ]
