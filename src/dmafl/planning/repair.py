"""Bring whole choices back within windows and batteries: faster, less work, other devices, in this order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dmafl.physics.computation import compute_s
from dmafl.planning.assignment import in_flight_versions, valid_versions
from dmafl.planning.choice import Choice, all_past, late_s, used_J
from dmafl.planning.effort import UNLIMITED, Effort
from dmafl.planning.found import Found, found_of
from dmafl.planning.integers import whole
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.planning.weights import Work
from dmafl.randomness import FloatArray

MOST_ROUNDS = 200
FASTER = 1.04
LESS = 0.94


def whole_and_repaired(problem: Problem, choices: Sequence[Choice], effort: Effort = UNLIMITED) -> Found:
    """Real choices in whole numbers, within the limits if they can be."""
    found = repaired(problem, whole(problem, choices, effort), effort)
    for task in problem.tasks:
        effort.spend(Work.EVALUATION, problem.quality, task.slots)
    return found_of(problem, found)


def repaired(problem: Problem, choices: Sequence[Choice], effort: Effort = UNLIMITED) -> list[Choice]:
    """The same choices if they keep the limits; otherwise changed as little as these simple rules allow."""
    found = list(choices)
    for _ in range(3):
        found = [_in_time(task, choice, effort) for task, choice in zip(problem.tasks, found, strict=True)]
        if not overdrawn(problem, found).any():
            break
        found = _within_batteries(problem, found, effort)
    return found


def overdrawn(problem: Problem, choices: Sequence[Choice]) -> FloatArray:
    """By how much each battery is overdrawn [J], (I,)."""
    return _over(problem, used_J(problem, choices))


def _over(problem: Problem, used: FloatArray) -> FloatArray:
    over = used - problem.world.devices.battery_J
    return np.asarray(np.where(over > 1e-12 * problem.world.devices.battery_J, over, 0.0))


def fastest(problem: Problem, task: TaskProblem, effort: Effort = UNLIMITED) -> Choice:
    """The choice that ends earliest among simple ones: least work at full speed, any number of jobs in flight."""
    if task.first_free == task.slots:
        return all_past(task)
    G, usable = task.slots, task.usable
    e, B = np.ceil(task.steps_range[0]), np.ceil(task.batch_range[0])
    compute = np.asarray(compute_s(task.cycles, e, B, task.highest_Hz))
    best: Choice | None = None
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
        choice = Choice(device, version, np.full(G, e), np.full(G, B), task.highest_Hz[device]).after(
            task.past
        )
        choice = valid_versions(choice, problem.devices, task.first_free)
        if best is None or late_s(task, choice) < late_s(task, best):
            best = choice
    assert best is not None
    return best


def in_turn(task: TaskProblem, in_flight: int) -> Choice:
    """All devices in turn with the least work at full speed, so many jobs in flight if they may be."""
    if task.first_free == task.slots:
        return all_past(task)
    G, device = task.slots, np.resize(task.usable, task.slots)
    e, B = np.ceil(task.steps_range[0]), np.ceil(task.batch_range[0])
    version = in_flight_versions(G, min(in_flight, task.most_in_flight))
    choice = Choice(device, version, np.full(G, e), np.full(G, B), task.highest_Hz[device]).after(task.past)
    return valid_versions(choice, int(choice.device.max()) + 1, task.first_free)


def _in_time(task: TaskProblem, choice: Choice, effort: Effort) -> Choice:
    """Faster while the CPU allows it, then with less work, until the window is kept or nothing is left to give."""
    for _ in range(MOST_ROUNDS):
        effort.spend(Work.REPAIR, task.quality.name, task.slots)
        if late_s(task, choice) <= 0:
            return choice
        i = choice.device
        frequency = np.minimum(choice.frequency_Hz * FASTER, task.highest_Hz[i])
        frequency[: task.first_free] = choice.frequency_Hz[: task.first_free]
        if (frequency > choice.frequency_Hz * (1 + 1e-9)).any():
            choice = choice.with_(frequency_Hz=frequency)
            continue
        less = _less_work(task, choice, np.ones(task.slots, dtype=bool))
        if less is None:
            break
        choice = less
    return choice


def _less_work(task: TaskProblem, choice: Choice, where: np.ndarray) -> Choice | None:
    """A little less work of these jobs; None if they already have the least."""
    where = where & (np.arange(task.slots) >= task.first_free)
    batch = np.where(
        where, np.maximum(np.floor(choice.batch * LESS), np.ceil(task.batch_range[0])), choice.batch
    )
    if (batch < choice.batch).any():
        return choice.with_(batch=batch)
    steps = np.where(
        where, np.maximum(np.floor(choice.steps * LESS), np.ceil(task.steps_range[0])), choice.steps
    )
    return choice.with_(steps=steps) if (steps < choice.steps).any() else None


def _within_batteries(problem: Problem, choices: list[Choice], effort: Effort) -> list[Choice]:
    """Less work on overdrawn devices, then some of their jobs to devices with energy to spare."""
    slots = sum(task.slots for task in problem.tasks)
    for _ in range(MOST_ROUNDS):
        effort.spend(Work.REPAIR, problem.quality, slots, problem.devices)
        over = overdrawn(problem, choices)
        if not over.any():
            break
        changed = False
        for j, task in enumerate(problem.tasks):
            less = _less_work(task, choices[j], over[choices[j].device] > 0)
            if less is not None:
                choices[j], changed = less, True
        if not changed:
            break
    for _ in range(slots):
        effort.spend(Work.REPAIR, problem.quality, slots, problem.devices)
        used = used_J(problem, choices)
        over = _over(problem, used)
        if not over.any() or not _handed_over(problem, choices, int(np.argmax(over)), used):
            break
    return choices


def _handed_over(problem: Problem, choices: list[Choice], device: int, used: FloatArray) -> bool:
    """Give one job of `device` to the one with the most energy to spare that is free then."""
    spare = problem.world.devices.battery_J - used
    for j, task in enumerate(problem.tasks):
        choice = choices[j]
        for g in np.flatnonzero(choice.device[task.first_free :] == device)[::-1].tolist():
            g += task.first_free
            joules = (
                problem.world.devices.uplink_power_W * task.upload_s[:, g]
                + problem.energy_per_work(task) * choice.work[g] * task.lowest_Hz**2
            )
            fits = spare - joules
            fits[device] = -np.inf
            later = np.arange(g + 1, min(task.slots, g + task.most_stale + 1))
            fits[choice.device[int(choice.version[g]) : g]] = -np.inf
            fits[choice.device[later[choice.version[later] <= g]]] = -np.inf
            heir = int(np.argmax(fits))
            if fits[heir] > 0:
                devices, frequency = choice.device.copy(), choice.frequency_Hz.copy()
                devices[g], frequency[g] = heir, task.lowest_Hz[heir]
                choices[j] = choice.with_(device=devices, frequency_Hz=frequency)
                return True
    return False
