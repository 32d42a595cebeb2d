"""From shares to a schedule: slots are given out one after another, then the resources are polished."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.base.randomness import generator
from dmafl.planning.decision import TaskDecision, cost_of, device_J, jobs_from, times_of
from dmafl.planning.effort import UNLIMITED, CutOff, Effort
from dmafl.planning.problem import Problem
from dmafl.planning.resources.best_resources import solve_resources
from dmafl.planning.sca.relaxation import RelaxedProblem, RelaxedTask

DRAWS = 4
"""Random roundings of every point beside the one by the largest shares."""
POLISHED, FEW_POLISHED = 4, 2
"""Roundings whose resources are polished, and with more than MANY_SLOTS."""
MANY_SLOTS = 40
FEASIBLE = 1e-7
"""Relative violation that the polish may leave."""


@dataclass(frozen=True, eq=False)
class Rounded:
    """A schedule, its objective, and how far it is from feasible."""

    decisions: tuple[TaskDecision, ...]
    objective: float
    violation: float


Order = tuple[IntArray, IntArray]
"""Device and staleness of every slot of a task."""


def rounded(
    relaxed: RelaxedProblem, points: Sequence[FloatArray], seed: int, effort: Effort = UNLIMITED
) -> Rounded:
    """The best of several roundings with polished resources; `points` are those after every stage.

    Where no rounding is feasible, devices whose battery would not last and slow transfers get less to do.
    """
    rng = generator(seed, "sca.rounding")
    polished: list[Rounded] = []
    try:
        for decisions in _promising(relaxed, points, rng, effort):
            polished.append(polish(relaxed.problem, decisions, effort))
        _relieve(relaxed, points[-1], polished, effort)
    except CutOff:
        if not polished:
            raise
    return min(polished, key=_rank)


REPAIRS = 6
"""More roundings, each relieving devices or tasks that broke a limit in the last one, if none was feasible."""


def _relieve(relaxed: RelaxedProblem, last: FloatArray, polished: list[Rounded], effort: Effort) -> None:
    """More roundings until one is feasible, each with less to do for those that broke a limit in the last one."""
    shares = [task.shares(last) for task in relaxed.tasks]
    at = min(polished, key=_rank)
    for _ in range(REPAIRS):
        if min(polished, key=_rank).violation == 0.0:
            break
        shares = _relieved(relaxed, shares, at.decisions)
        at = polish(relaxed.problem, _decisions(relaxed, _orders(relaxed, shares, None), last), effort)
        polished.append(at)


def nudged(relaxed: RelaxedProblem, v: FloatArray, share: float) -> FloatArray:
    """The point moved a little towards the schedule of its largest shares: off a tie, which no penalty can break."""
    out = v.copy()
    for task in relaxed.tasks:
        device, stale = _order(task, task.shares(v), None)
        chosen = (task.device == device[task.slot]) & (task.stale == stale[task.slot])
        task.get(out, "x")[:] += share * (chosen - task.get(v, "x"))
    return relaxed.completed(out)


def with_samples(relaxed: RelaxedProblem, v: FloatArray) -> RelaxedProblem:
    """The same with the samples D that every slot has in the schedule of the largest shares, which depend on times."""
    orders = _orders(relaxed, [task.shares(v) for task in relaxed.tasks], None)
    tasks = []
    for task, decision in zip(relaxed.tasks, _decisions(relaxed, orders, v), strict=True):
        jobs = jobs_from(relaxed.problem, task.task, decision, times_of(task.task, decision))
        tasks.append(replace(task, samples=jobs.samples))
    return replace(relaxed, tasks=tuple(tasks))


def polish(problem: Problem, decisions: Sequence[TaskDecision], effort: Effort = UNLIMITED) -> Rounded:
    """The best steps, batches and frequencies for a given schedule."""
    return _measured(problem, solve_resources(problem, decisions, effort).decisions)


def _promising(
    relaxed: RelaxedProblem, points: Sequence[FloatArray], rng: np.random.Generator, effort: Effort
) -> list[tuple[TaskDecision, ...]]:
    """The last point by its largest shares, and the best of all points, judged with resources as they are."""
    tried: list[tuple[Order, ...]] = []
    decisions = []
    for v in reversed(points):
        shares = [task.shares(v) for task in relaxed.tasks]
        for draw in range(DRAWS + 1):
            effort.look()
            orders = _orders(relaxed, shares, rng if draw else None)
            if not any(_same(orders, other) for other in tried):
                tried.append(orders)
                decisions.append(_decisions(relaxed, orders, v))
    others = sorted(decisions[1:], key=lambda each: _rank(_measured(relaxed.problem, each)))
    slots = sum(task.shape[0] for task in relaxed.tasks)
    return [decisions[0], *others[: (FEW_POLISHED if slots > MANY_SLOTS else POLISHED) - 1]]


def _orders(
    relaxed: RelaxedProblem, shares: Sequence[FloatArray], rng: np.random.Generator | None
) -> tuple[Order, ...]:
    return tuple(_order(task, x, rng) for task, x in zip(relaxed.tasks, shares, strict=True))


RELIEF = 0.3
"""Factor on the shares of a device whose battery would not last."""


def _relieved(
    relaxed: RelaxedProblem, shares: Sequence[FloatArray], decisions: Sequence[TaskDecision]
) -> list[FloatArray]:
    """Smaller shares for devices that spend too much, and for slow transfers in tasks that end too late."""
    problem = relaxed.problem
    spent = np.zeros(problem.devices)
    for task, decision in zip(problem.tasks, decisions, strict=True):
        spent += device_J(problem, task, decision)
    tired = spent > problem.world.devices.battery_J
    out = []
    for relaxed_task, x, decision in zip(relaxed.tasks, shares, decisions, strict=True):
        changed = np.where(tired[None, :, None], x * RELIEF, x + 1e-6)
        window = relaxed_task.task.window_s[decision.device]
        if (times_of(relaxed_task.task, decision).end_s > window * (1 + FEASIBLE)).any():
            usual = float(np.median(relaxed_task.transfer_s[np.isfinite(relaxed_task.transfer_s)]))
            changed = (changed + 1e-3) * np.exp(-np.minimum(relaxed_task.transfer_s / usual, 50.0))
        out.append(np.asarray(changed))
    return out


def _order(task: RelaxedTask, x: FloatArray, rng: np.random.Generator | None) -> Order:
    """Slot after slot: the largest share, or one drawn by shares, of the candidates that rule S2 leaves.

    A fresh job is always left. Devices that would miss their participation floor are preferred when it gets late.
    """
    G, I, S = task.shape  # noqa: E741
    possible = np.zeros(task.shape, dtype=bool)
    possible[task.slot, task.device, task.stale] = True
    free_from = np.zeros(I, dtype=np.int64)
    owed = np.zeros(I, dtype=np.int64)
    owed[task.task.usable] = task.task.fewest_slots
    device, stale = np.zeros(G, dtype=np.int64), np.zeros(G, dtype=np.int64)
    for g in range(G):
        left = possible[g] & (g - np.arange(S)[None, :] >= free_from[:, None])
        if int(owed.sum()) >= G - g and (left & (owed > 0)[:, None]).any():
            left &= (owed > 0)[:, None]
        share = np.where(left, x[g] + 1e-9, 0.0)
        if not left.any():  # only candidates that are too far for a fresh start
            share = np.where(np.arange(S)[None, :] == 0, 1.0, 0.0) * np.ones((I, 1))
        pick = (
            int(share.argmax()) if rng is None else int(rng.choice(share.size, p=share.ravel() / share.sum()))
        )
        i, s = divmod(pick, S)
        device[g], stale[g] = i, s
        free_from[i], owed[i] = g + 1, max(owed[i] - 1, 0)
    return device, stale


def _decisions(relaxed: RelaxedProblem, orders: Sequence[Order], v: FloatArray) -> tuple[TaskDecision, ...]:
    """The schedule with the steps, batches and frequencies of the vector."""
    decisions = []
    for task, (device, stale) in zip(relaxed.tasks, orders, strict=True):
        f = np.clip(
            np.exp(task.get(v, "frequency")), task.task.lowest_Hz[device], task.task.highest_Hz[device]
        )
        decisions.append(
            TaskDecision(
                device=device,
                version=np.arange(task.shape[0]) - stale,
                steps=np.clip(np.exp(task.get(v, "steps")), *task.task.steps_range),
                batch=np.clip(np.exp(task.get(v, "batch")), *task.task.batch_range),
                frequency_Hz=f,
            )
        )
    return tuple(decisions)


def _measured(problem: Problem, decisions: tuple[TaskDecision, ...]) -> Rounded:
    """Objective and violation in the true problem."""
    total, worst = 0.0, 0.0
    spent = np.zeros(problem.devices)
    for task, decision in zip(problem.tasks, decisions, strict=True):
        total += cost_of(problem, task, decision).total
        window = task.window_s[decision.device]
        worst = max(worst, float((times_of(task, decision).end_s / window - 1.0).max()))
        spent += device_J(problem, task, decision)
    worst = max(worst, float((spent / problem.world.devices.battery_J - 1.0).max()))
    return Rounded(decisions, total, worst if worst > FEASIBLE else 0.0)


def _rank(schedule: Rounded) -> tuple[float, float]:
    return (round(schedule.violation, 6), schedule.objective)


def _same(a: Sequence[Order], b: Sequence[Order]) -> bool:
    return all(np.array_equal(p, q) for x, y in zip(a, b, strict=True) for p, q in zip(x, y, strict=True))
