"""Local search on whole plans: other devices, swaps, other versions, more or less work, judged by the objective."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dmafl.planning.choice import Choice, cost_at, cost_of, device_J, late_s, times_of
from dmafl.planning.found import Budget
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.randomness import FloatArray, generator

MOVES_A_JOB = 40
"""Moves tried per job before the search ends, if time does not end it first."""


def search(
    problem: Problem,
    choices: Sequence[Choice],
    budget: Budget,
    seed: int,
    *,
    schedule_too: bool = True,
    moves_a_job: int = MOVES_A_JOB,
) -> list[Choice]:
    """Accept random moves that lower a task's cost and keep windows and batteries, until moves or time run out.

    Without `schedule_too`, devices and versions stay, and only work and frequencies move.
    """
    found = list(choices)
    rng = generator(seed, "planner.local_search")
    battery = problem.world.devices.battery_J
    used = [device_J(problem, task, choice) for task, choice in zip(problem.tasks, found, strict=True)]
    cost = [cost_of(problem, task, choice).total for task, choice in zip(problem.tasks, found, strict=True)]
    late = [late_s(task, choice) for task, choice in zip(problem.tasks, found, strict=True)]
    moves = moves_a_job * sum(task.slots for task in problem.tasks)
    for _ in range(moves):
        if budget.left <= 0:
            break
        j = int(rng.integers(len(found)))
        task = problem.tasks[j]
        if task.first_free == task.slots:
            continue
        tried = _moved(task, found[j], rng, 0 if schedule_too else 3)
        if tried is None:
            continue
        times = times_of(task, tried)
        new_late = late_s(task, tried, times)
        if new_late > max(late[j], 0.0):
            continue
        own = device_J(problem, task, tried)
        total = sum(used) - used[j] + own
        if (total > np.maximum(battery, sum(used)) * (1 + 1e-12)).any():
            continue
        new = cost_at(problem, task, tried, times).total
        if new < cost[j]:
            found[j], cost[j], late[j], used[j] = tried, new, new_late, own
    return found


def _moved(task: TaskProblem, choice: Choice, rng: np.random.Generator, first_kind: int) -> Choice | None:
    """A random neighbour; None if the move drawn is not allowed."""
    kind = rng.integers(first_kind, 5)
    g = int(rng.integers(task.first_free, task.slots))
    if kind == 0:
        return _checked(task, _with_device(task, choice, g, int(rng.choice(task.usable))))
    if kind == 1:
        h = int(rng.integers(task.first_free, task.slots))
        swapped = _with_device(task, choice, g, int(choice.device[h]))
        return _checked(task, _with_device(task, swapped, h, int(choice.device[g])))
    if kind == 2:
        version = choice.version.copy()
        version[g] = rng.integers(max(0, g - task.most_stale), g + 1)
        return _checked(task, choice.with_(version=version))
    if kind == 3:
        return _with_work(task, choice, g, rng)
    frequency = choice.frequency_Hz.copy()
    i = choice.device[g]
    frequency[g] = np.clip(frequency[g] * np.exp(0.3 * rng.normal()), task.lowest_Hz[i], task.highest_Hz[i])
    return choice.with_(frequency_Hz=frequency)


def _with_device(task: TaskProblem, choice: Choice, g: int, device: int) -> Choice:
    """Slot g by another device, which takes over the work of its nearest own slot if it has one."""
    devices, frequency = choice.device.copy(), choice.frequency_Hz.copy()
    devices[g] = device
    own = np.flatnonzero(choice.device == device)
    if len(own):
        frequency[g] = choice.frequency_Hz[own[np.argmin(np.abs(own - g))]]
    frequency[g] = np.clip(frequency[g], task.lowest_Hz[device], task.highest_Hz[device])
    return choice.with_(device=devices, frequency_Hz=frequency)


def _with_work(task: TaskProblem, choice: Choice, g: int, rng: np.random.Generator) -> Choice:
    steps, batch = choice.steps.copy(), choice.batch.copy()
    which: tuple[FloatArray, tuple[float, float]] = (
        (steps, task.steps_range) if rng.random() < 0.5 else (batch, task.batch_range)
    )
    values, limits = which
    size = max(1.0, np.round(abs(rng.normal()) * 0.2 * values[g]))
    values[g] = np.clip(values[g] + (size if rng.random() < 0.5 else -size), *limits)
    return choice.with_(steps=steps, batch=batch)


def _checked(task: TaskProblem, choice: Choice) -> Choice | None:
    """The choice if no device gets a job before its last one is done (rule S2) and floors are kept."""
    last: dict[int, int] = {}
    for g, (i, v) in enumerate(zip(choice.device.tolist(), choice.version.tolist(), strict=True)):
        if v <= last.get(i, -1):
            return None
        last[i] = g
    if task.fewest_slots:
        counts = np.bincount(choice.device, minlength=int(task.usable.max()) + 1)[task.usable]
        if (counts < task.fewest_slots).any():
            return None
    return choice
