"""Whole steps and batches: round, keep the limits, then let single jobs take one more or one less while it pays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dmafl.planning.choice import Choice, cost_of, device_J, jobs_from, times_of, used_J
from dmafl.planning.effort import UNLIMITED, CutOff, Effort
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.planning.weights import Work
from dmafl.randomness import FloatArray

SWEEPS = 4
LAST_NUDGE = 0.9
"""Share of a time limit after which single steps are left out."""


def whole(problem: Problem, choices: Sequence[Choice], effort: Effort = UNLIMITED) -> list[Choice]:
    """The same choices with whole steps and batches, within windows and batteries if the given ones were."""
    rounded = [_rounded(task, choice) for task, choice in zip(problem.tasks, choices, strict=True)]
    rounded = _within_batteries(problem, rounded, effort)
    spare = problem.world.devices.battery_J - used_J(problem, rounded)
    hurried = effort.hurried(LAST_NUDGE)
    return [
        _nudged(problem, task, choice, spare, hurried)
        for task, choice in zip(problem.tasks, rounded, strict=True)
    ]


def _rounded(task: TaskProblem, choice: Choice) -> Choice:
    """Steps to the nearest, batches so that the work stays; computing times stay where the CPU allows it."""
    low, high = task.steps_range
    steps = np.clip(np.round(choice.steps), low, high)
    least, most = task.batch_range
    batch = np.clip(np.round(choice.work / steps), least, most)
    frequency = choice.frequency_Hz * steps * batch / choice.work
    i = choice.device
    fast = task.highest_Hz[i]
    too_fast = frequency > fast
    batch = np.where(too_fast & (batch > least), np.maximum(np.floor(choice.work / steps), least), batch)
    frequency = choice.frequency_Hz * steps * batch / choice.work
    frequency = np.clip(frequency, task.lowest_Hz[i], fast)
    return choice.with_(steps=steps, batch=batch, frequency_Hz=frequency).after(task.past)


def _within_batteries(problem: Problem, choices: list[Choice], effort: Effort) -> list[Choice]:
    """Smaller batches on devices whose battery the rounding has overdrawn."""
    battery = problem.world.devices.battery_J
    for _ in range(int(max(task.batch_range[1] for task in problem.tasks))):
        effort.spend(Work.REPAIR, problem.quality, sum(len(one.device) for one in choices), problem.devices)
        over = used_J(problem, choices) > battery
        if not np.any(over):
            return choices
        changed = False
        for j, (task, choice) in enumerate(zip(problem.tasks, choices, strict=True)):
            mine = over[choice.device] & (choice.batch > task.batch_range[0])
            mine[: task.first_free] = False
            if mine.any():
                batch = choice.batch - mine
                frequency = choice.frequency_Hz * batch / choice.batch
                frequency = np.maximum(frequency, task.lowest_Hz[choice.device])
                choices[j] = choice.with_(batch=batch, frequency_Hz=frequency)
                changed = True
        if not changed:
            return choices
    return choices


def _nudged(
    problem: Problem, task: TaskProblem, choice: Choice, spare_J: FloatArray, effort: Effort
) -> Choice:
    """One step or one sample more or less wherever slopes and then the objective say so; times are kept."""
    if task.first_free == task.slots:
        return choice
    try:
        effort.spend(Work.EVALUATION, problem.quality, task.slots)
        cost = cost_of(problem, task, choice).total
        for _ in range(SWEEPS):
            better = _swept(problem, task, choice, cost, spare_J, effort)
            if better is None:
                break
            choice, cost = better
    except CutOff:  # what was gained stays
        pass
    return choice


def _swept(
    problem: Problem, task: TaskProblem, choice: Choice, cost: float, spare_J: FloatArray, effort: Effort
) -> tuple[Choice, float] | None:
    """The choice after a step of steps and one of batches, and what it costs; None if neither helped."""
    effort.spend(Work.LABELS, problem.quality, task.slots)
    times = times_of(task, choice)
    jobs = jobs_from(problem, task, choice, times)
    slopes = task.quality.slopes(jobs)
    i = choice.device
    joule = task.price_of_J * problem.c2 * problem.energy_per_work(task)[i]
    per_sample = joule * 3.0 * choice.frequency_Hz**2  # at a fixed computing time the energy grows like q^3
    of_steps = task.weight * slopes.steps + per_sample * choice.batch
    of_batch = task.weight * slopes.batch + per_sample * choice.steps
    improved = False
    for name, slope, limits in (
        ("steps", of_steps, task.steps_range),
        ("batch", of_batch, task.batch_range),
    ):
        tried = _stepped(task, choice, name, slope, limits, spare_J, problem)
        if tried is None:
            continue
        effort.spend(Work.EVALUATION, problem.quality, task.slots)
        new = cost_of(problem, task, tried).total
        if new < cost:
            spare_J += device_J(problem, task, choice) - device_J(problem, task, tried)
            choice, cost, improved = tried, new, True
    return (choice, cost) if improved else None


def _stepped(
    task: TaskProblem,
    choice: Choice,
    name: str,
    slope: FloatArray,
    limits: tuple[float, float],
    spare_J: FloatArray,
    problem: Problem,
) -> Choice | None:
    """A quarter of the jobs, those of the steepest slopes, one unit down their slope; None if none can."""
    now = getattr(choice, name)
    new = np.clip(now - np.sign(slope), *limits)
    moves = (new != now) & (np.abs(slope) > 0)
    moves[: task.first_free] = False
    if not moves.any():
        return None
    order = np.argsort(-np.abs(slope) * moves, kind="stable")[: max(1, int(moves.sum()) // 4)]
    value = now.copy()
    value[order] = new[order]
    work = value * (choice.batch if name == "steps" else choice.steps)
    i = choice.device
    frequency = choice.frequency_Hz * work / choice.work
    if (frequency > task.highest_Hz[i] * (1 + 1e-12)).any():
        late = frequency > task.highest_Hz[i]
        value = np.where(late, now, value)
        work = value * (choice.batch if name == "steps" else choice.steps)
        frequency = choice.frequency_Hz * work / choice.work
    frequency = np.clip(frequency, task.lowest_Hz[i], task.highest_Hz[i])
    tried = choice.with_(**{name: value, "frequency_Hz": frequency})
    more = device_J(problem, task, tried) - device_J(problem, task, choice)
    return None if (more > np.maximum(spare_J, 0.0)).any() and (more > 0).any() else tried
