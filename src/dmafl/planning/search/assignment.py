"""Who completes which slot: a balanced start, then changes of single devices for as long as they pay."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.planning.decision import GivenWork, TaskDecision, jobs_from, times_of
from dmafl.planning.effort import UNLIMITED, Effort
from dmafl.planning.effort_costs import Work
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.planning.search.prices import UnitCosts
from dmafl.planning.search.reassignment_gains import AT_ONCE, ReassignmentGains, reassignment_gains
from dmafl.theory.gram_bias import MEMORY
from dmafl.theory.jobs import TaskJobs

Priced = Callable[[TaskDecision], float]
"""The priced objective of a task."""
CHEAP, BALANCED, IN_TURN = "cheap", "balanced", "in turn"
"""Orders to start from: by cost and what a device does to the balance, by Gram bias first, all devices in turn."""
BALANCE_FIRST = 1e3
"""How much more a full Gram bias weighs than a job's cost where balance comes first."""


def orders_to_try(task: TaskProblem) -> tuple[str, ...]:
    """Where slots are judged apart, the cheap order is best. A loss of the balance has optima far from one another."""
    if task.loss_model.judges_slots_apart:
        return (CHEAP,)
    return (CHEAP, BALANCED, IN_TURN) if len(task.usable) <= task.slots else (CHEAP, BALANCED)


def in_flight_versions(slots: int, in_flight: int) -> IntArray:
    """Versions received when `in_flight` jobs are under way at a time."""
    return np.maximum(np.arange(slots) - in_flight + 1, 0)


def start_order(
    problem: Problem,
    task: TaskProblem,
    in_flight: int,
    costs: UnitCosts,
    work: FloatArray,
    kind: str = CHEAP,
) -> IntArray:
    """Slot after slot the device that costs least, with what it does to the balance if the loss model knows it.

    A device that falls behind its participation floor goes first. `work`: samples that each device would compute, (I,).
    """
    usable, loss_model = task.usable, task.loss_model
    if kind == IN_TURN:
        return np.resize(usable, task.slots)
    version = in_flight_versions(task.slots, in_flight)
    order = np.empty(task.slots, dtype=np.int64)
    F, sign, weight = np.zeros((len(usable), 1)), np.ones(1), 0.0
    balance = loss_model.start_balance(gram_alone=kind == BALANCED)
    if balance is not None:
        F, sign = balance.columns[usable], balance.sign
        weight = task.weight / ((1.0 - MEMORY**2) * task.slots)  # a share stays in the memory for some slots
    plain = _plain(problem, task, float(np.median(work))) if loss_model.judges_slots_apart else None
    direction, total = np.zeros(F.shape[1]), 0.0
    alpha = task.mix_weights[np.arange(task.slots), np.arange(task.slots) - version]
    busy = np.zeros(len(usable), dtype=np.int64)  # slots until a device is free again
    pace, done = task.fewest_slots / task.slots, np.zeros(len(usable))
    some = max(1, AT_ONCE // problem.devices)
    for g in range(task.slots):
        if g % some == 0:
            slots = slice(g, g + some)
            cost = costs.transfers(task, version, slots) + costs.sample * work
            if plain is not None:
                cost += task.weight * loss_model.replacements(plain, slots=slots)
            cost = cost[:, usable]
            if kind == BALANCED:
                full = float(np.abs(F**2 @ sign).mean())
                weight = BALANCE_FIRST * float(np.median(cost)) / max(full, 1e-150)
        toward = MEMORY * direction + alpha[g] * F
        reach = MEMORY * total + alpha[g]
        score = cost[g % some] + weight * ((toward**2) @ sign) / reach**2
        if len(usable) > in_flight:
            score = np.where(busy > g, np.inf, score)
        else:
            score = np.where(busy > g, score + 1e9, score)
        if pace > 0:
            behind = pace * (g + 1) - done >= 1.0
            if (behind & (busy <= g)).any():
                score = np.where(behind, score, np.inf)
        k = int(np.argmin(score))
        order[g] = usable[k]
        done[k] += 1.0
        direction, total = toward[k], reach
        busy[k] = g + in_flight
    return order


def _plain(problem: Problem, task: TaskProblem, work: float) -> TaskJobs:
    """A fresh order with middling work, in which `replacements` say slot by slot what devices do to the loss."""
    G = task.slots
    steps = float(np.clip(np.sqrt(work), *task.steps_range))
    device = np.resize(task.usable, G)
    decision = TaskDecision(
        device,
        np.arange(G),
        np.full(G, steps),
        np.full(G, float(np.clip(work / steps, *task.batch_range))),
        task.highest_Hz[device],
    )
    return jobs_from(problem, task, decision, times_of(task, decision))


def valid_versions(decision: TaskDecision, devices: int, first: int = 0) -> TaskDecision:
    """The same with versions so fresh that no device gets a new job before its last one is done (rule S2)."""
    last = np.full(devices, -1)
    version = decision.version.copy()
    for g, i in enumerate(decision.device.tolist()):
        if g >= first:
            version[g] = max(version[g], last[i] + 1)
        last[i] = g
    return decision.with_(version=version)


def improve(
    task: TaskProblem,
    decision: TaskDecision,
    jobs_of: Callable[[TaskDecision], TaskJobs],
    priced: Priced,
    costs: UnitCosts,
    drawn: GivenWork | None = None,
    effort: Effort = UNLIMITED,
    *,
    sweeps: int = 8,
) -> tuple[TaskDecision, float]:
    """Let other devices complete slots while the priced objective falls; many slots at once where they agree."""
    value = priced(decision)
    for _ in range(sweeps):
        effort.spend(Work.REASSIGNMENT, task.loss_model.name, task.slots, task.slots * len(costs.sample))
        gains = reassignment_gains(task, decision, jobs_of(decision), costs, drawn, effort)
        gain = gains.gain
        slots = np.flatnonzero(gain < -1e-12 * max(1.0, abs(value)))
        slots = slots[np.argsort(gain[slots], kind="stable")]
        accepted = False
        batch = _apart(slots, max(1, len(slots) // 3))
        while len(batch):
            tried = _changed(task, decision, batch, gains, costs)
            tried = tried if drawn is None else drawn.given_to(tried)
            new = priced(tried)
            if new < value:
                decision, value, accepted = tried, new, True
                break
            batch = batch[: len(batch) // 2]
        if not accepted:
            break
    return decision, value


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


def _changed(
    task: TaskProblem, decision: TaskDecision, slots: IntArray, gains: ReassignmentGains, costs: UnitCosts
) -> TaskDecision:
    """The decision with these slots given to their best devices; those that now clash stay."""
    device, steps, batch = decision.device.copy(), decision.steps.copy(), decision.batch.copy()
    for g in slots.tolist():
        near = slice(int(decision.version[g]), g)
        later = np.arange(g + 1, min(len(device), g + task.most_stale + 1))
        under_way = later[decision.version[later] <= g]
        i = gains.device[g]
        if i in device[near] or i in device[under_way]:
            continue
        device[g], steps[g], batch[g] = i, gains.steps[g], gains.batch[g]
    frequency = np.where(device == decision.device, decision.frequency_Hz, costs.frequency_Hz[device])
    return decision.with_(device=device, steps=steps, batch=batch, frequency_Hz=frequency)
