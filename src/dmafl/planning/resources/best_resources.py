"""The best steps, batches and frequencies of a fixed schedule.

Cost and limits in steps e, work q = e B, computing times T and slot times tau are convex but for ratios and biases of
the device mix. A loop minimises convex surrogates (`loss_models.surrogate`, `cone_program`) and searches
along the way to each minimiser, so that the cost itself never rises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.planning.decision import TaskDecision, Times, cost_of, times_of
from dmafl.planning.effort import UNLIMITED, Effort
from dmafl.planning.effort_costs import Work
from dmafl.planning.loss_models.surrogate import ExpansionPoint, Surrogate
from dmafl.planning.problem import Problem
from dmafl.planning.resources.cone_program import ConeProgram, ShadowPrices
from dmafl.planning.resources.fixed_schedule import FixedSchedule, Point, fixed_schedule
from dmafl.planning.resources.interior_point import InteriorMethod
from dmafl.planning.resources.smooth_cost import scores_of
from dmafl.theory.jobs import TaskJobs

STALLED = 1e-8
"""Relative decrease of the cost at which the loop ends."""
MAX_ITERATIONS = 60
MAX_PASSES = 8
"""How often samples and versions are brought up to date with the new times; half as often in large problems."""
LARGE = 1000
"""Jobs of a large problem."""
SETTLED = 1e-6
"""Relative change of the cost from one pass to the next at which passes end."""
OTHER = 1e-5
"""Relative change of the cost by other samples at which it is minimised again; for every 300 jobs."""
FEASIBLE = 1e-7
"""Share of a window or battery by which it may be broken before a schedule counts as infeasible."""
_SMALLEST_STEP = 1e-4
_ENOUGH = 1e-3
"""Share of the decrease that the slope promises which a step must reach."""


@dataclass(frozen=True)
class Broken:
    """A limit that no decision of resources keeps, at the least that it can be broken by."""

    rule: str
    """S4_window or S6_energy."""
    where: str
    excess: float
    unit: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.where} by {self.excess:.6g} {self.unit}"


@dataclass(frozen=True, eq=False)
class Resources:
    """Resources of a fixed schedule."""

    decisions: tuple[TaskDecision, ...]
    """The schedule with its best real steps, batches and frequencies; versions as they are then received."""
    objective: float
    """sum of `cost_of` over tasks."""
    residual: float
    """What another iteration promised to save, relative to the objective."""
    iterations: int
    converged: bool
    """Whether no first-order change helps; not so where the best found had jobs that receive fresher versions."""
    broken: tuple[Broken, ...]
    """Limits that cannot be kept; empty if the schedule is feasible."""
    window_prices: FloatArray
    """Cost saved by another second of the windows of each task, (J,)."""
    job_prices: tuple[FloatArray, ...]
    """Cost of another second of each job's transfers, through the slots that wait for it; (G,) for each task."""
    battery_prices: FloatArray
    """Cost saved by another joule in each device's battery, (I,)."""

    @property
    def feasible(self) -> bool:
        """Whether all limits are kept."""
        return not self.broken


def solve_resources(
    problem: Problem, decisions: Sequence[TaskDecision], effort: Effort = UNLIMITED
) -> Resources:
    """The best resources for the devices and versions of `decisions`, from where they are.

    A job that starts after its version has been replaced receives the fresher one, as in `times_of`.
    """
    unreachable = _unreachable(problem, decisions)
    if unreachable:
        return _as_they_are(problem, decisions, unreachable)
    at, iterations = tuple(decisions), 0
    best: _Best | None = None
    n = sum(task.slots for task in problem.tasks)
    pull = np.zeros(n)
    for number in range(MAX_PASSES if n <= LARGE else MAX_PASSES // 2):
        effort.spend(Work.EVALUATION, problem.quality, n)
        fixed = fixed_schedule(problem, at, _times(problem, at))
        start = fixed.point_of(at)
        if number == 0 and _within(fixed, start):
            best = _Best(_cost(problem, at), at, False, None)
        state = _minimise(fixed, start, pull, effort, warm=number > 0)
        iterations += state.iterations
        if state.broken:
            break
        effort.spend(Work.EVALUATION, problem.quality, n)
        cost, relabelled = _cost(problem, state.decisions), _other_versions(fixed, state.decisions)
        gained = np.inf if best is None else (best.cost - cost) / max(abs(cost), 1e-300)
        solved = state.converged and not relabelled
        if best is None or gained > 0:
            best = _Best(cost, state.decisions, solved, state.prices)
        elif best.prices is None:
            best = replace(best, converged=solved, prices=state.prices)
        elif (
            solved and at is best.decisions
        ):  # with the versions that it really receives nothing is to be gained
            best = replace(best, converged=True)
        at, last = state.decisions, pull
        pull = _pull(fixed, at)
        others = state.other_samples or bool((pull != last).any())
        small = number > 0 and gained < (SETTLED if n <= LARGE else OTHER)
        if not (relabelled or others) or (small and not (relabelled and n <= LARGE)):
            break
    if state.broken or best is None:  # the least that limits can be broken by
        best = _Best(_cost(problem, state.decisions), state.decisions, False, state.prices)
    return _resources(problem, best, state, iterations)


@dataclass(frozen=True, eq=False)
class _Best:
    """The best decisions so far."""

    cost: float
    decisions: tuple[TaskDecision, ...]
    converged: bool
    """Whether these are the versions that they were solved for."""
    prices: ShadowPrices | None


def _times(problem: Problem, decisions: Sequence[TaskDecision]) -> list[Times]:
    return [times_of(task, decision) for task, decision in zip(problem.tasks, decisions, strict=True)]


def _pull(fixed: FixedSchedule, decisions: Sequence[TaskDecision]) -> FloatArray:
    """What the cost gains by a second of each job's computing through the drift of others' data, (n,)."""
    point = fixed.point_of(decisions)
    jobs = fixed.jobs_at(point, fixed.ends_s(point))
    return np.concatenate(
        [
            task.loss_model.overlap_pull(task.weight, its_jobs)
            for task, its_jobs in zip(fixed.problem.tasks, jobs, strict=True)
        ]
    )


# -- one pass: samples and versions held -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Outcome:
    decisions: tuple[TaskDecision, ...]
    residual: float
    converged: bool
    prices: ShadowPrices | None
    broken: tuple[Broken, ...]
    iterations: int = 0
    other_samples: bool = False
    """Whether samples have changed so much that the cost has."""


class _Cost:
    """The cost of a schedule with samples and versions held, as a function of its resources."""

    def __init__(self, fixed: FixedSchedule) -> None:
        self.fixed = fixed

    def jobs(self, point: Point) -> list[TaskJobs]:
        """The jobs of each task at the earliest times."""
        return self.fixed.jobs_at(point, self.fixed.ends_s(point))

    def __call__(self, point: Point) -> float:
        s, ends = self.fixed, self.fixed.ends_s(point)
        loss = sum(
            task.weight * task.loss_model.value(jobs)
            for task, jobs in zip(s.problem.tasks, s.jobs_at(point, ends), strict=True)
        )
        return float(loss + s.price_of_J @ s.compute_J(point) + s.price_of_end_s @ ends)

    def surrogates(self, point: Point, strength: float) -> list[Surrogate]:
        """Convex functions that touch the losses at `point`."""
        tasks, jobs = self.fixed.problem.tasks, self.jobs(point)
        known = zip(tasks, jobs, scores_of(tasks, jobs), strict=True)
        return [
            task.loss_model.surrogate(task.weight, ExpansionPoint(its_jobs, scores, strength))
            for task, its_jobs, scores in known
        ]


def _minimise(
    fixed: FixedSchedule, start: Point, pull: FloatArray, effort: Effort, *, warm: bool
) -> _Outcome:
    """By the interior-point method; by cone programs where a loss is not smooth, or if that fails."""
    smooth = all(task.loss_model.smooth for task in fixed.problem.tasks)
    if smooth and not _cannot_be_in_time(fixed) and not _cannot_last(fixed):
        inner = InteriorMethod(fixed, start, pull, effort, warm=warm).solve()
        if _within(fixed, inner.point):
            decisions = fixed.decisions_at(inner.point)
            return _Outcome(
                decisions,
                inner.residual,
                inner.converged,
                inner.prices,
                (),
                inner.iterations,
                _other_samples(inner.fixed, inner.point),
            )
    if not _within(fixed, start):
        least = _least_broken(fixed, start, effort)
        if least.broken:
            return least
        start = fixed.point_of(least.decisions)
    return _by_cones(fixed, start, effort)


def _by_cones(fixed: FixedSchedule, start: Point, effort: Effort) -> _Outcome:
    """Minimise surrogates as cone programs, one after another."""
    cost, point = _Cost(fixed), start
    value, strength, residual, prices = cost(point), 1.0, np.inf, None
    for iteration in range(1, MAX_ITERATIONS + 1):
        answer = ConeProgram(fixed, point, effort).solve(cost.surrogates(point, strength), point)
        if not answer.solved:
            break
        prices = answer.prices
        reached, after, step = _search(cost, point, value, answer.point, effort)
        gained = (value - after) / max(abs(value), 1e-300)
        residual = gained / step
        point, value = reached, after
        strength = strength * 4.0 if step < 1.0 else max(strength / 2.0, 1e-3)
        if gained < STALLED:
            return _Outcome(fixed.decisions_at(point), residual, True, prices, (), iteration)
    return _Outcome(fixed.decisions_at(point), residual, False, prices, (), iteration)


def _search(
    cost: _Cost, point: Point, value: float, target: Point, effort: Effort
) -> tuple[Point, float, float]:
    """The first of the steps 1, 1/2, 1/4, ... towards `target` that lowers the cost."""
    step = 1.0
    while step > _SMALLEST_STEP:
        effort.spend(Work.EVALUATION, cost.fixed.problem.quality, len(cost.fixed))
        tried = point.towards(target, step)
        reached = cost(tried)
        if reached < value:
            return tried, reached, step
        step /= 2.0
    return point, value, 1.0


# -- limits ----------------------------------------------------------------------------------------------


def _within(fixed: FixedSchedule, point: Point) -> bool:
    """Whether windows and batteries are kept."""
    ends = fixed.ends_s(point)
    rows = fixed.window_rows
    in_time = bool((ends[rows] <= fixed.window_s[rows]).all())
    return in_time and bool((fixed.spent_J(point) <= fixed.battery_J).all())


def _cannot_be_in_time(fixed: FixedSchedule) -> bool:
    """Whether not even the least work at the highest frequencies keeps all windows."""
    e, q, rows = fixed.steps[0], fixed.steps[0] * fixed.batch[0], fixed.window_rows
    ends = fixed.ends_s(Point(e, q, q * fixed.s_per_sample[0]))
    return bool((ends[rows] > fixed.window_s[rows] * (1.0 + FEASIBLE)).any())


def _cannot_last(fixed: FixedSchedule) -> bool:
    """Whether not even the least work at the lowest frequencies keeps all batteries."""
    e, q = fixed.steps[0], fixed.steps[0] * fixed.batch[0]
    return bool((fixed.spent_J(Point(e, q, q * fixed.s_per_sample[1])) > fixed.battery_J).any())


def _least_broken(fixed: FixedSchedule, start: Point, effort: Effort) -> _Outcome:
    """Resources that break batteries by as little as possible, relative to each; and windows, if it must be."""
    late = _cannot_be_in_time(fixed)
    answer = ConeProgram(fixed, start, effort, elastic=True, windows_too=late).solve([], start)
    rows, world = fixed.window_rows, fixed.problem.world
    names = world.task_names
    broken = [
        Broken("S4_window", f"task {names[fixed.task[k]]}, slot {fixed.slot[k]} ends late", float(slack), "s")
        for k, slack in zip(rows.tolist(), answer.window_slack_s.tolist(), strict=True)
        if slack > FEASIBLE * fixed.window_s[k]
    ]
    broken += [
        Broken("S6_energy", f"device {world.devices.id[i]} needs more", float(slack), "J")
        for i, slack in enumerate(answer.battery_slack_J.tolist())
        if slack > FEASIBLE * world.devices.battery_J[i]
    ]
    return _Outcome(fixed.decisions_at(answer.point), np.inf, False, answer.prices, tuple(broken), 1)


def _unreachable(problem: Problem, decisions: Sequence[TaskDecision]) -> tuple[Broken, ...]:
    """Jobs whose transfers never end."""
    broken = []
    for task, decision in zip(problem.tasks, decisions, strict=True):
        radio = (
            task.upload_s[decision.device, np.arange(task.slots)]
            + task.download_s[decision.device, decision.version]
        )
        for slot in np.flatnonzero(~np.isfinite(radio))[:1]:
            device = problem.world.devices.id[decision.device[slot]]
            where = f"task {task.name}, slot {slot}: device {device} has no link"
            broken.append(Broken("S4_window", where, float("inf"), "s"))
    return tuple(broken)


# -- results ---------------------------------------------------------------------------------------------


def _cost(problem: Problem, decisions: Sequence[TaskDecision]) -> float:
    return sum(
        cost_of(problem, task, decision).total
        for task, decision in zip(problem.tasks, decisions, strict=True)
    )


def _other_versions(fixed: FixedSchedule, decisions: Sequence[TaskDecision]) -> bool:
    """Whether the new times bring other versions."""
    times = _times(fixed.problem, decisions)
    return any((when.version != jobs.version).any() for when, jobs in zip(times, fixed.jobs, strict=True))


def _other_samples(fixed: FixedSchedule, point: Point) -> bool:
    """Whether the new times bring other samples, and these another cost."""
    now = fixed.refreshed(point)
    if now is fixed:
        return False
    before, after = _Cost(fixed)(point), _Cost(now)(point)
    return abs(after - before) > OTHER * max(1.0, len(fixed) / 300.0) * abs(before)


def _resources(problem: Problem, best: _Best, state: _Outcome, iterations: int) -> Resources:
    sizes = np.cumsum([task.slots for task in problem.tasks])[:-1]
    n = sum(task.slots for task in problem.tasks)
    prices = best.prices
    if prices is None:
        prices = ShadowPrices(np.zeros(len(problem.tasks)), np.zeros(n), np.zeros(problem.devices))
    times = _times(problem, best.decisions) if np.isfinite(best.cost) else [None for _ in best.decisions]
    return Resources(
        decisions=tuple(
            decision if when is None else decision.with_(version=when.version)
            for decision, when in zip(best.decisions, times, strict=True)
        ),
        objective=best.cost,
        residual=state.residual,
        iterations=iterations,
        converged=best.converged,
        broken=state.broken,
        window_prices=prices.window_s,
        job_prices=tuple(np.split(prices.job_s, sizes)),
        battery_prices=prices.battery_J,
    )


def _as_they_are(
    problem: Problem, decisions: Sequence[TaskDecision], broken: tuple[Broken, ...]
) -> Resources:
    """No solution: a link is dead."""
    state = _Outcome(tuple(decisions), float("inf"), False, None, broken)
    cost = float("inf") if broken else _cost(problem, decisions)
    return _resources(problem, _Best(cost, tuple(decisions), False, None), state, 0)
