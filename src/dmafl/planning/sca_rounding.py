"""From shares to a schedule: slots are given out one after another, then the resources are polished."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dmafl.planning.choice import Choice, cost_of, device_J, times_of
from dmafl.planning.problem import Problem
from dmafl.planning.sca_descent import Descent, Penalties
from dmafl.planning.sca_relaxed import RelaxedProblem, RelaxedTask, held
from dmafl.randomness import FloatArray, generator
from dmafl.world.mobility import IntArray

DRAWS = 8
"""Random roundings beside the one by the largest shares."""
POLISHED = 2
"""Roundings whose resources are polished."""
POLISH_ITERATIONS = 60
POLISH_TOLERANCE = 1e-6
FEASIBLE = 1e-9
"""Relative violation that rounding errors may leave."""


@dataclass(frozen=True, eq=False)
class Rounded:
    """A schedule, its objective, and how far it is from feasible."""

    choices: tuple[Choice, ...]
    objective: float
    violation: float


Order = tuple[IntArray, IntArray]
"""Device and staleness of every slot of a task."""


def rounded(relaxed: RelaxedProblem, v: FloatArray, prices: Sequence[float], seed: int) -> Rounded:
    """The best of several roundings, resources polished."""
    rng = generator(seed, "sca.rounding")
    tried: list[tuple[Order, ...]] = []
    for draw in range(DRAWS + 1):
        orders = tuple(_order(task, task.shares(v), rng if draw else None) for task in relaxed.tasks)
        if not any(_same(orders, other) for other in tried):
            tried.append(orders)
    measured = [_measured(relaxed.problem, _choices(relaxed, orders, v)) for orders in tried]
    ranked = sorted(range(len(tried)), key=lambda k: _rank(measured[k]))
    polished = [polish(relaxed, tried[k], v, prices) for k in ranked[:POLISHED]]
    return min(polished, key=_rank)


def polish(
    relaxed: RelaxedProblem, orders: Sequence[Order], v: FloatArray, prices: Sequence[float]
) -> Rounded:
    """The best resources found for a given schedule: the same iterations with the shares held."""
    fixed = held(relaxed, orders)
    start = np.zeros(fixed.size)
    for own, task in zip(fixed.tasks, relaxed.tasks, strict=True):
        own.get(start, "x")[:] = 1.0
        for part in ("steps", "batch", "frequency"):
            own.get(start, part)[:] = task.get(v, part)
        low, high = np.log(task.task.lowest_Hz)[own.device], np.log(task.task.highest_Hz)[own.device]
        own.get(start, "frequency")[:] = np.clip(own.get(start, "frequency"), low, high)
    dear = tuple(10.0 * rho for rho in prices)
    descent = Descent(fixed, fixed.settled(start), Penalties(0.0, dear))
    descent.run(POLISH_ITERATIONS, POLISH_TOLERANCE)
    return _measured(relaxed.problem, _choices(fixed, orders, fixed.settled(descent.v)))


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


def _choices(relaxed: RelaxedProblem, orders: Sequence[Order], v: FloatArray) -> tuple[Choice, ...]:
    """The schedule with the steps, batches and frequencies of the vector."""
    choices = []
    for task, (device, stale) in zip(relaxed.tasks, orders, strict=True):
        f = np.clip(
            np.exp(task.get(v, "frequency")), task.task.lowest_Hz[device], task.task.highest_Hz[device]
        )
        choices.append(
            Choice(
                device=device,
                version=np.arange(task.shape[0]) - stale,
                steps=np.clip(np.exp(task.get(v, "steps")), *task.task.steps_range),
                batch=np.clip(np.exp(task.get(v, "batch")), *task.task.batch_range),
                frequency_Hz=f,
            )
        )
    return tuple(choices)


def _measured(problem: Problem, choices: tuple[Choice, ...]) -> Rounded:
    """Objective and violation in the true problem."""
    total, worst = 0.0, 0.0
    spent = np.zeros(problem.devices)
    for task, choice in zip(problem.tasks, choices, strict=True):
        total += cost_of(problem, task, choice).total
        window = task.window_s[choice.device]
        worst = max(worst, float((times_of(task, choice).end_s / window - 1.0).max()))
        spent += device_J(problem, task, choice)
    worst = max(worst, float((spent / problem.world.devices.battery_J - 1.0).max()))
    return Rounded(choices, total, worst if worst > FEASIBLE else 0.0)


def _rank(one: Rounded) -> tuple[float, float]:
    return (round(one.violation, 6), one.objective)


def _same(a: Sequence[Order], b: Sequence[Order]) -> bool:
    return all(np.array_equal(p, q) for x, y in zip(a, b, strict=True) for p, q in zip(x, y, strict=True))
