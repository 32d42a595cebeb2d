"""Who completes which slot: a balanced start, then changes of single devices for as long as they pay."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dmafl.planning.choice import Choice, Drawn
from dmafl.planning.prices import UnitCosts
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.planning.quality import Calibrated
from dmafl.randomness import FloatArray
from dmafl.theory.gram_bias import MEMORY
from dmafl.theory.jobs import TaskJobs
from dmafl.world.mobility import IntArray

Priced = Callable[[Choice], float]
"""The priced objective of a task."""


def in_flight_versions(slots: int, in_flight: int) -> IntArray:
    """Versions received when `in_flight` jobs are under way at a time."""
    return np.maximum(np.arange(slots) - in_flight + 1, 0)


def start_order(
    problem: Problem, task: TaskProblem, in_flight: int, costs: UnitCosts, work: FloatArray
) -> IntArray:
    """Slot after slot the device that costs least, with what it adds to the Gram bias if the quality knows it.

    `work`: samples that each device would compute, (I,).
    """
    usable = task.usable
    version = in_flight_versions(task.slots, in_flight)
    computed = (costs.sample * work)[usable, None]
    cost = (costs.radio[usable] + computed + costs.download[usable][:, version]).T
    order = np.empty(task.slots, dtype=np.int64)
    quality = task.quality
    if isinstance(quality, Calibrated) and quality.calibration.weights.gram_bias > 0:
        F, sign = quality.gram.columns[usable], quality.gram.sign
        weight = task.weight * quality.calibration.weights.gram_bias
        ahead = 1.0 / ((1.0 - MEMORY**2) * task.slots)  # a share stays in the memory for some slots
    else:
        F, sign, weight, ahead = np.zeros((len(usable), 1)), np.ones(1), 0.0, 0.0
        separable = np.zeros((task.slots, len(usable)))
        if not isinstance(quality, Calibrated):
            separable = _separable(problem, task, float(np.median(work)))[:, usable]
        cost = cost + task.weight * separable
    direction, total = np.zeros(F.shape[1]), 0.0
    alpha = task.mix_weights[np.arange(task.slots), np.arange(task.slots) - version]
    busy = np.zeros(len(usable), dtype=np.int64)  # slots until a device is free again
    for g in range(task.slots):
        toward = MEMORY * direction + alpha[g] * F
        reach = MEMORY * total + alpha[g]
        bias = (toward**2) @ sign / reach**2
        score = cost[g] + weight * ahead * bias
        if len(usable) > in_flight:
            score = np.where(busy > g, np.inf, score)
        else:
            score = np.where(busy > g, score + 1e9, score)
        k = int(np.argmin(score))
        order[g] = usable[k]
        direction, total = toward[k], reach
        busy[k] = g + in_flight
    return order


def _separable(problem: Problem, task: TaskProblem, work: float) -> FloatArray:
    """What devices do to a bound, slot by slot, with middling work."""
    from dmafl.planning.choice import jobs_from, times_of

    G = task.slots
    steps = float(np.clip(np.sqrt(work), *task.steps_range))
    device = np.resize(task.usable, G)
    choice = Choice(
        device,
        np.arange(G),
        np.full(G, steps),
        np.full(G, float(np.clip(work / steps, *task.batch_range))),
        task.highest_Hz[device],
    )
    return task.quality.replacements(jobs_from(problem, task, choice, times_of(task, choice)))


def valid_versions(choice: Choice, devices: int, first: int = 0) -> Choice:
    """The same with versions so fresh that no device gets a new job before its last one is done (rule S2)."""
    last = np.full(devices, -1)
    version = choice.version.copy()
    for g, i in enumerate(choice.device.tolist()):
        if g >= first:
            version[g] = max(version[g], last[i] + 1)
        last[i] = g
    return choice.with_(version=version)


def improve(
    task: TaskProblem,
    choice: Choice,
    jobs_of: Callable[[Choice], TaskJobs],
    priced: Priced,
    costs: UnitCosts,
    drawn: Drawn | None = None,
    *,
    sweeps: int = 8,
) -> tuple[Choice, float]:
    """Let other devices complete slots while the priced objective falls; many slots at once where they agree."""
    value = priced(choice)
    for _ in range(sweeps):
        gains = _gains(task, choice, jobs_of(choice), costs, drawn)
        best = gains.argmin(axis=1)
        gain = gains[np.arange(task.slots), best]
        slots = np.flatnonzero(gain < -1e-12 * max(1.0, abs(value)))
        slots = slots[np.argsort(gain[slots], kind="stable")]
        accepted = False
        batch = _apart(slots, max(1, len(slots) // 3))
        while len(batch):
            tried = _changed(task, choice, batch, best, costs)
            tried = tried if drawn is None else drawn.given_to(tried)
            new = priced(tried)
            if new < value:
                choice, value, accepted = tried, new, True
                break
            batch = batch[: len(batch) // 2]
        if not accepted:
            break
    return choice, value


def _gains(
    task: TaskProblem, choice: Choice, jobs: TaskJobs, costs: UnitCosts, drawn: Drawn | None
) -> FloatArray:
    """What the priced objective gains if slot g alone goes to device i, (G, I); forbidden: infinite."""
    slot = np.arange(task.slots)
    work = choice.work[:, None] if drawn is None else drawn.steps * drawn.batch
    cost = (costs.radio + costs.download[:, choice.version]).T + costs.sample * work
    quality = task.quality.replacements(jobs, cost / max(task.weight, 1e-300))
    gain = cost - cost[slot, choice.device][:, None] + task.weight * quality
    return np.where(_forbidden(task, choice, gain.shape[1]), np.inf, gain)


def _forbidden(task: TaskProblem, choice: Choice, devices: int) -> NDArray[np.bool_]:
    """Devices that cannot complete a slot because they are under way then (rule S2), or are not usable."""
    G = task.slots
    closed = np.ones((G, devices), dtype=bool)
    closed[:, task.usable] = False
    slot = np.arange(G)
    for back in range(1, int((slot - choice.version).max(initial=0)) + 1):
        later = slot[back:]
        clash = (
            choice.version[later] <= later - back
        )  # the job of slot `later` was under way at slot later - back
        a, b = later[clash], (later - back)[clash]
        closed[a, choice.device[b]] = True
        closed[b, choice.device[a]] = True
    if task.fewest_slots:
        counts = np.bincount(choice.device, minlength=devices)
        closed[counts[choice.device] <= task.fewest_slots] = True
    closed[slot, choice.device] = True
    closed[: task.first_free] = True
    return closed


def _apart(slots: IntArray, most: int) -> IntArray:
    """The first of these slots that are no neighbours of those before them."""
    kept: list[int] = []
    taken: set[int] = set()
    for g in slots.tolist():
        if len(kept) >= most:
            break
        if g - 1 not in taken and g + 1 not in taken:
            kept.append(g)
            taken.add(g)
    return np.asarray(kept, dtype=np.int64)


def _changed(task: TaskProblem, choice: Choice, slots: IntArray, best: IntArray, costs: UnitCosts) -> Choice:
    """The choice with these slots given to their best devices; those that now clash stay."""
    device = choice.device.copy()
    for g in slots.tolist():
        near = slice(int(choice.version[g]), g)
        later = np.arange(g + 1, min(len(device), g + task.most_stale + 1))
        under_way = later[choice.version[later] <= g]
        if best[g] in device[near] or best[g] in device[under_way]:
            continue
        device[g] = best[g]
    frequency = np.where(device == choice.device, choice.frequency_Hz, costs.frequency_Hz[device])
    return choice.with_(device=device, frequency_Hz=frequency)
