"""Why there is no plan: the binding limit by name, and the smallest change that would make room for one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.base.errors import Problem as BrokenLimit
from dmafl.base.errors import ShownAsIs
from dmafl.planning.decision import TaskDecision, late_s, times_of
from dmafl.planning.effort import UNLIMITED, Effort
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.planning.search.repair import fastest, overdrawn
from dmafl.scenario.fields import limits_of
from dmafl.scenario.model import Task
from dmafl.schedule.checks import Check

MORE = 1.001
"""A little more than the least, so that rounding the shown number does not matter."""


def certain_infeasibility(problem: Problem, effort: Effort = UNLIMITED) -> list[BrokenLimit]:
    """Limits that no plan can keep: windows too short for any order, batteries too small for all slots."""
    windows = [_too_short_window(problem, task, effort) for task in problem.tasks]
    limits = [limit for limit in windows if limit is not None]
    battery = _too_small_batteries(problem)
    return [*limits, *([battery] if battery is not None else [])]


def remaining_infeasibility(problem: Problem, decisions: Sequence[TaskDecision]) -> list[BrokenLimit]:
    """Limits that the best decisions found still break."""
    limits = []
    for task, decision in zip(problem.tasks, decisions, strict=True):
        late = late_s(task, decision)
        if late > 1e-9 * float(task.window_s.max()):
            limits.append(_too_short(problem, task, decision, late))
    over = overdrawn(problem, decisions)
    if over.any():
        i = int(np.argmax(over))
        battery = float(problem.world.devices.battery_J[i])
        limits.append(
            BrokenLimit(
                "fleet.battery_J",
                f"must pay for the jobs of device {problem.world.devices.id[i]} (rule S6)",
                ShownAsIs(f"{battery:.4g} J, {over[i]:.4g} J short in the best plan found"),
                f"Raise battery_J of that device to {(battery + over[i]) * MORE:.4g} J, or lower slots or steps_min.",
            )
        )
    return limits


def no_plan_in_time(effort: Effort) -> BrokenLimit:
    """The time limit came before any plan that keeps all limits."""
    return BrokenLimit(
        "time_limit_s",
        "must leave time to find a plan that keeps all limits",
        ShownAsIs(f"none after {effort.time_limit_s:g} s"),
        "Raise --time-limit, or leave it out: --effort alone ends the search too.",
    )


def broken_rules(checks: Sequence[Check]) -> list[BrokenLimit]:
    """Rules that a settled schedule breaks."""
    return [
        BrokenLimit(
            check.name,
            check.rule,
            ShownAsIs(f"{check.violation:.4g} {check.unit} too much at {check.worst}"),
            check.remedy,
        )
        for check in checks
        if not check.ok
    ]


def _too_short_window(problem: Problem, task: TaskProblem, effort: Effort) -> BrokenLimit | None:
    decision = fastest(problem, task, effort)
    late = late_s(task, decision)
    return _too_short(problem, task, decision, late) if late > 0 else None


def _too_short(problem: Problem, task: TaskProblem, decision: TaskDecision, late: float) -> BrokenLimit:
    end = times_of(task, decision).end_s
    over = end - task.window_s[decision.device]
    window = float(task.window_s[decision.device[int(np.argmax(over))]])
    value = f"{window:.4g} s, missed by {late:.4g} s in the best plan found"
    if (decision.steps <= np.ceil(task.steps_range[0])).all():
        value = f"{window:.4g} s; with the least work at full speed the fastest order found ends after {end[-1]:.4g} s"
    stale = ""
    if task.settings.max_staleness < problem.devices - 1:
        stale = ", raise max_staleness so that more devices work at a time"
    enough_s, slots = (window + late) * MORE, int(np.argmax(over > 0))
    remedy = f"Raise window_s to {enough_s:.4g} s{stale}"
    if enough_s > limits_of(Task.model_fields["window_s"]).high:
        remedy = "No window is as long: raise bandwidths, powers, gains or frequencies"
    return BrokenLimit(
        f"tasks.{task.name}.window_s",
        f"must leave time for {task.slots} aggregations (rule S4)",
        ShownAsIs(value),
        f"{remedy}, or lower slots to {slots}." if slots else f"{remedy}.",
    )


def _too_small_batteries(problem: Problem) -> BrokenLimit | None:
    """Whether all batteries together can pay for all slots at the least work, each with its cheapest slot."""
    battery = problem.world.devices.battery_J
    least = np.full(problem.devices, np.inf)
    for task in problem.tasks:
        e, B = np.ceil(task.steps_range[0]), np.ceil(task.batch_range[0])
        compute = problem.energy_per_work(task) * e * B * task.lowest_Hz**2
        joules = problem.world.devices.uplink_power_W * task.upload_s.min(axis=1) + compute
        least[task.usable] = np.minimum(least[task.usable], joules[task.usable])
    jobs = float(np.floor(battery / least * (1 + 1e-12)).sum())
    slots = sum(task.slots for task in problem.tasks)
    if jobs >= slots:
        return None
    return BrokenLimit(
        "fleet.battery_J",
        f"must pay for {slots} jobs (rule S6)",
        ShownAsIs(f"energy for at most {jobs:.0f} jobs of all devices together"),
        f"Raise battery_J by a factor of {_factor(battery / least, slots):.4g}, or lower slots, steps_min or "
        "batch_min.",
    )


def _factor(jobs: FloatArray, slots: int) -> float:
    """The smallest common factor of all batteries with which so many jobs can be paid, to a per mille."""
    low, high = 1.0, 2.0
    while np.floor(jobs * high).sum() < slots:
        high *= 2.0
        if not np.isfinite(high):
            return high
    while high / low > MORE:
        middle = float(np.sqrt(low * high))
        if np.floor(jobs * middle).sum() < slots:
            low = middle
        else:
            high = middle
    return high
