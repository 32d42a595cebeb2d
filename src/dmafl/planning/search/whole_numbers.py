"""Whole steps and batches: round, keep the limits, then let single jobs take one more or one less while it pays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.planning.decision import TaskDecision, cost_of, device_J, jobs_from, times_of, used_J
from dmafl.planning.effort import UNLIMITED, CutOff, Effort
from dmafl.planning.effort_costs import Work
from dmafl.planning.problem import Problem, TaskProblem

SWEEPS = 4
LAST_NUDGE = 0.9
"""Share of a time limit after which single steps are left out."""


def whole(
    problem: Problem, decisions: Sequence[TaskDecision], effort: Effort = UNLIMITED
) -> list[TaskDecision]:
    """The same decisions with whole steps and batches, within windows and batteries if the given ones were."""
    rounded = [_rounded(task, decision) for task, decision in zip(problem.tasks, decisions, strict=True)]
    rounded = _within_batteries(problem, rounded, effort)
    spare = problem.world.devices.battery_J - used_J(problem, rounded)
    hurried = effort.hurried(LAST_NUDGE)
    return [
        _nudged(problem, task, decision, spare, hurried)
        for task, decision in zip(problem.tasks, rounded, strict=True)
    ]


def _rounded(task: TaskProblem, decision: TaskDecision) -> TaskDecision:
    """Steps to the nearest, batches so that the work stays; computing times stay where the CPU allows it."""
    low, high = task.steps_range
    steps = np.clip(np.round(decision.steps), low, high)
    least, most = task.batch_range
    batch = np.clip(np.round(decision.work / steps), least, most)
    frequency = decision.frequency_Hz * steps * batch / decision.work
    i = decision.device
    fast = task.highest_Hz[i]
    too_fast = frequency > fast
    batch = np.where(too_fast & (batch > least), np.maximum(np.floor(decision.work / steps), least), batch)
    frequency = decision.frequency_Hz * steps * batch / decision.work
    frequency = np.clip(frequency, task.lowest_Hz[i], fast)
    return decision.with_(steps=steps, batch=batch, frequency_Hz=frequency).after(task.past)


def _within_batteries(problem: Problem, decisions: list[TaskDecision], effort: Effort) -> list[TaskDecision]:
    """Smaller batches on devices whose battery the rounding has overdrawn."""
    battery = problem.world.devices.battery_J
    for _ in range(int(max(task.batch_range[1] for task in problem.tasks))):
        effort.spend(
            Work.REPAIR, problem.quality, sum(len(each.device) for each in decisions), problem.devices
        )
        over = used_J(problem, decisions) > battery
        if not np.any(over):
            return decisions
        changed = False
        for j, (task, decision) in enumerate(zip(problem.tasks, decisions, strict=True)):
            mine = over[decision.device] & (decision.batch > task.batch_range[0])
            mine[: task.first_free] = False
            if mine.any():
                batch = decision.batch - mine
                frequency = decision.frequency_Hz * batch / decision.batch
                frequency = np.maximum(frequency, task.lowest_Hz[decision.device])
                decisions[j] = decision.with_(batch=batch, frequency_Hz=frequency)
                changed = True
        if not changed:
            return decisions
    return decisions


def _nudged(
    problem: Problem, task: TaskProblem, decision: TaskDecision, spare_J: FloatArray, effort: Effort
) -> TaskDecision:
    """One step or one sample more or less wherever slopes and then the objective say so; times are kept."""
    if task.first_free == task.slots:
        return decision
    try:
        effort.spend(Work.EVALUATION, problem.quality, task.slots)
        cost = cost_of(problem, task, decision).total
        for _ in range(SWEEPS):
            better = _swept(problem, task, decision, cost, spare_J, effort)
            if better is None:
                break
            decision, cost = better
    except CutOff:  # what was gained stays
        pass
    return decision


def _swept(
    problem: Problem,
    task: TaskProblem,
    decision: TaskDecision,
    cost: float,
    spare_J: FloatArray,
    effort: Effort,
) -> tuple[TaskDecision, float] | None:
    """The decision after a step of steps and one of batches, and what it costs; None if neither helped."""
    effort.spend(Work.LABELS, problem.quality, task.slots)
    times = times_of(task, decision)
    jobs = jobs_from(problem, task, decision, times)
    slopes = task.loss_model.slopes(jobs)
    i = decision.device
    joule = task.price_of_J * problem.c2 * problem.energy_per_work(task)[i]
    per_sample = joule * 3.0 * decision.frequency_Hz**2  # at a fixed computing time the energy grows like q^3
    of_steps = task.weight * slopes.steps + per_sample * decision.batch
    of_batch = task.weight * slopes.batch + per_sample * decision.steps
    improved = False
    for name, slope, limits in (
        ("steps", of_steps, task.steps_range),
        ("batch", of_batch, task.batch_range),
    ):
        tried = _stepped(task, decision, name, slope, limits, spare_J, problem)
        if tried is None:
            continue
        effort.spend(Work.EVALUATION, problem.quality, task.slots)
        new = cost_of(problem, task, tried).total
        if new < cost:
            spare_J += device_J(problem, task, decision) - device_J(problem, task, tried)
            decision, cost, improved = tried, new, True
    return (decision, cost) if improved else None


def _stepped(
    task: TaskProblem,
    decision: TaskDecision,
    name: str,
    slope: FloatArray,
    limits: tuple[float, float],
    spare_J: FloatArray,
    problem: Problem,
) -> TaskDecision | None:
    """A quarter of the jobs, those of the steepest slopes, one unit down their slope; None if none can."""
    now = getattr(decision, name)
    new = np.clip(now - np.sign(slope), *limits)
    moves = (new != now) & (np.abs(slope) > 0)
    moves[: task.first_free] = False
    if not moves.any():
        return None
    order = np.argsort(-np.abs(slope) * moves, kind="stable")[: max(1, int(moves.sum()) // 4)]
    value = now.copy()
    value[order] = new[order]
    work = value * (decision.batch if name == "steps" else decision.steps)
    i = decision.device
    frequency = decision.frequency_Hz * work / decision.work
    if (frequency > task.highest_Hz[i] * (1 + 1e-12)).any():
        late = frequency > task.highest_Hz[i]
        value = np.where(late, now, value)
        work = value * (decision.batch if name == "steps" else decision.steps)
        frequency = decision.frequency_Hz * work / decision.work
    frequency = np.clip(frequency, task.lowest_Hz[i], task.highest_Hz[i])
    tried = decision.with_(**{name: value, "frequency_Hz": frequency})
    more = device_J(problem, task, tried) - device_J(problem, task, decision)
    return None if (more > np.maximum(spare_J, 0.0)).any() and (more > 0).any() else tried
