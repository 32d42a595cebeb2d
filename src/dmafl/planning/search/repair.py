"""Bring whole decisions back within windows and batteries: faster, less work, other devices, in this order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.planning.decision import TaskDecision, all_past, late_s, used_J
from dmafl.planning.effort import UNLIMITED, Effort
from dmafl.planning.effort_costs import Work
from dmafl.planning.incumbent import Incumbent, incumbent_of
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.planning.search.assignment import in_flight_versions, valid_versions
from dmafl.planning.search.whole_numbers import whole
from dmafl.world.physics.computation import compute_s

MOST_ROUNDS = 200
FASTER = 1.04
LESS = 0.94


def whole_and_repaired(
    problem: Problem, decisions: Sequence[TaskDecision], effort: Effort = UNLIMITED
) -> Incumbent:
    """Real decisions in whole numbers, within the limits if they can be."""
    kept = repaired(problem, whole(problem, decisions, effort), effort)
    for task in problem.tasks:
        effort.spend(Work.EVALUATION, problem.quality, task.slots)
    return incumbent_of(problem, kept)


def repaired(
    problem: Problem, decisions: Sequence[TaskDecision], effort: Effort = UNLIMITED
) -> list[TaskDecision]:
    """The same decisions if they keep the limits; otherwise changed as little as these simple rules allow."""
    changed = list(decisions)
    for _ in range(3):
        changed = [
            _in_time(task, decision, effort) for task, decision in zip(problem.tasks, changed, strict=True)
        ]
        if not overdrawn(problem, changed).any():
            break
        changed = _within_batteries(problem, changed, effort)
    return changed


def overdrawn(problem: Problem, decisions: Sequence[TaskDecision]) -> FloatArray:
    """By how much each battery is overdrawn [J], (I,)."""
    return _over(problem, used_J(problem, decisions))


def _over(problem: Problem, used: FloatArray) -> FloatArray:
    over = used - problem.world.devices.battery_J
    return np.asarray(np.where(over > 1e-12 * problem.world.devices.battery_J, over, 0.0))


def fastest(problem: Problem, task: TaskProblem, effort: Effort = UNLIMITED) -> TaskDecision:
    """The decision that ends earliest among simple ones: least work at full speed, any number of jobs in flight."""
    if task.first_free == task.slots:
        return all_past(task)
    G, usable = task.slots, task.usable
    e, B = np.ceil(task.steps_range[0]), np.ceil(task.batch_range[0])
    compute = np.asarray(compute_s(task.cycles, e, B, task.highest_Hz))
    best: TaskDecision | None = None
    for in_flight in range(1, task.most_in_flight + 1):
        effort.spend(Work.FASTEST, problem.quality, G, G * len(usable))
        version = in_flight_versions(G, in_flight)
        length = (task.upload_s + task.download_s[:, version] + compute[:, None])[usable]
        device = np.empty(G, dtype=np.int64)
        free = np.zeros(len(usable), dtype=np.int64)
        for g in range(G):
            cost = np.where(free > version[g], np.inf, length[:, g])
            k = int(np.argmin(cost)) if np.isfinite(cost).any() else int(np.argmin(free))
            device[g] = usable[k]
            free[k] = g + 1
        decision = TaskDecision(device, version, np.full(G, e), np.full(G, B), task.highest_Hz[device]).after(
            task.past
        )
        decision = valid_versions(decision, problem.devices, task.first_free)
        if best is None or late_s(task, decision) < late_s(task, best):
            best = decision
    assert best is not None
    return best


def in_turn(task: TaskProblem, in_flight: int) -> TaskDecision:
    """All devices in turn with the least work at full speed, so many jobs in flight if they may be."""
    if task.first_free == task.slots:
        return all_past(task)
    G, device = task.slots, np.resize(task.usable, task.slots)
    e, B = np.ceil(task.steps_range[0]), np.ceil(task.batch_range[0])
    version = in_flight_versions(G, min(in_flight, task.most_in_flight))
    decision = TaskDecision(device, version, np.full(G, e), np.full(G, B), task.highest_Hz[device]).after(
        task.past
    )
    return valid_versions(decision, int(decision.device.max()) + 1, task.first_free)


def _in_time(task: TaskProblem, decision: TaskDecision, effort: Effort) -> TaskDecision:
    """Faster while the CPU allows it, then with less work, until the window is kept or nothing is left to give."""
    for _ in range(MOST_ROUNDS):
        effort.spend(Work.REPAIR, task.loss_model.name, task.slots)
        if late_s(task, decision) <= 0:
            return decision
        i = decision.device
        frequency = np.minimum(decision.frequency_Hz * FASTER, task.highest_Hz[i])
        frequency[: task.first_free] = decision.frequency_Hz[: task.first_free]
        if (frequency > decision.frequency_Hz * (1 + 1e-9)).any():
            decision = decision.with_(frequency_Hz=frequency)
            continue
        less = _less_work(task, decision, np.ones(task.slots, dtype=bool))
        if less is None:
            break
        decision = less
    return decision


def _less_work(task: TaskProblem, decision: TaskDecision, where: np.ndarray) -> TaskDecision | None:
    """A little less work of these jobs; None if they already have the least."""
    where = where & (np.arange(task.slots) >= task.first_free)
    batch = np.where(
        where, np.maximum(np.floor(decision.batch * LESS), np.ceil(task.batch_range[0])), decision.batch
    )
    if (batch < decision.batch).any():
        return decision.with_(batch=batch)
    steps = np.where(
        where, np.maximum(np.floor(decision.steps * LESS), np.ceil(task.steps_range[0])), decision.steps
    )
    return decision.with_(steps=steps) if (steps < decision.steps).any() else None


def _within_batteries(problem: Problem, decisions: list[TaskDecision], effort: Effort) -> list[TaskDecision]:
    """Less work on overdrawn devices, then some of their jobs to devices with energy to spare."""
    slots = sum(task.slots for task in problem.tasks)
    for _ in range(MOST_ROUNDS):
        effort.spend(Work.REPAIR, problem.quality, slots, problem.devices)
        over = overdrawn(problem, decisions)
        if not over.any():
            break
        changed = False
        for j, task in enumerate(problem.tasks):
            less = _less_work(task, decisions[j], over[decisions[j].device] > 0)
            if less is not None:
                decisions[j], changed = less, True
        if not changed:
            break
    for _ in range(slots):
        effort.spend(Work.REPAIR, problem.quality, slots, problem.devices)
        used = used_J(problem, decisions)
        over = _over(problem, used)
        if not over.any() or not _handed_over(problem, decisions, int(np.argmax(over)), used):
            break
    return decisions


def _handed_over(problem: Problem, decisions: list[TaskDecision], device: int, used: FloatArray) -> bool:
    """Give one job of `device` to the one with the most energy to spare that is free then."""
    spare = problem.world.devices.battery_J - used
    for j, task in enumerate(problem.tasks):
        decision = decisions[j]
        for g in np.flatnonzero(decision.device[task.first_free :] == device)[::-1].tolist():
            g += task.first_free
            joules = (
                problem.world.devices.uplink_power_W * task.upload_s[:, g]
                + problem.energy_per_work(task) * decision.work[g] * task.lowest_Hz**2
            )
            fits = spare - joules
            fits[device] = -np.inf
            later = np.arange(g + 1, min(task.slots, g + task.most_stale + 1))
            fits[decision.device[int(decision.version[g]) : g]] = -np.inf
            fits[decision.device[later[decision.version[later] <= g]]] = -np.inf
            heir = int(np.argmax(fits))
            if fits[heir] > 0:
                devices, frequency = decision.device.copy(), decision.frequency_Hz.copy()
                devices[g], frequency[g] = heir, task.lowest_Hz[heir]
                decisions[j] = decision.with_(device=devices, frequency_Hz=frequency)
                return True
    return False
