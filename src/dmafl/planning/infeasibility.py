"""Why there is no plan: the binding limit by name, and the smallest change that would make room for one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dmafl.base.arrays import IntArray
from dmafl.base.errors import Problem as BrokenLimit
from dmafl.base.errors import ShownAsIs
from dmafl.planning.decision import TaskDecision, late_s, times_of
from dmafl.planning.effort import UNLIMITED, Effort
from dmafl.planning.incumbent import ROUNDING, incumbent_of, order
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.planning.search.least_energy import least_energy
from dmafl.planning.search.repair import fastest, overdrawn, repaired
from dmafl.scenario.fields import limits_of
from dmafl.scenario.model import Task
from dmafl.schedule.checks import Check

MORE = 1.001
"""A little more than the least, so that rounding the shown number does not matter."""
RAISED, MOST_RAISED = 1.02, 12
"""By how much a factor of batteries that is not enough yet is raised, more each time, and how often."""
MOST_NAMED = 20
"""Devices that a message names."""


def certain_infeasibility(problem: Problem, effort: Effort = UNLIMITED) -> list[BrokenLimit]:
    """Limits that no plan can keep: windows too short for any order, batteries too small for all slots.

    All of them at once, so that one change of the scenario is enough: batteries are judged with windows as raised.
    """
    quickest = [fastest(problem, task, effort) for task in problem.tasks]
    windows = _too_short_windows(problem, quickest)
    if not windows and _can_pay(problem):
        return []
    roomy = _with_windows_for(problem, quickest)
    starts = [repaired(roomy, start, effort) for start in (least_energy(roomy, effort), quickest)]
    in_time = [incumbent_of(roomy, start) for start in starts if not _late_tasks(roomy, start)]
    best = min(in_time, key=order).decisions if in_time else quickest
    return [*windows, *_too_small_batteries(roomy, best)]


def remaining_infeasibility(problem: Problem, decisions: Sequence[TaskDecision]) -> list[BrokenLimit]:
    """Limits that the best decisions found still break."""
    windows = _too_short_windows(problem, decisions)
    return [*windows, *_too_small_batteries(_with_windows_for(problem, decisions), decisions)]


def breaks_limits(problem: Problem, decisions: Sequence[TaskDecision]) -> bool:
    """Whether these decisions break a window or a battery."""
    return bool(_late_tasks(problem, decisions)) or bool(overdrawn(problem, decisions).any())


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


def _late_tasks(
    problem: Problem, decisions: Sequence[TaskDecision]
) -> list[tuple[TaskProblem, TaskDecision, float]]:
    """Tasks that end late with these decisions, and by how much [s]."""
    pairs = zip(problem.tasks, decisions, strict=True)
    late = [(task, decision, late_s(task, decision)) for task, decision in pairs]
    return [row for row in late if row[2] > ROUNDING * float(row[0].window_s.max())]


def _too_short_windows(problem: Problem, decisions: Sequence[TaskDecision]) -> list[BrokenLimit]:
    return [_too_short(problem, *row) for row in _late_tasks(problem, decisions)]


def _with_windows_for(problem: Problem, decisions: Sequence[TaskDecision]) -> Problem:
    """The problem with all windows raised as the message says."""
    enough_s = {
        task.number: _enough_s(task, decision) for task, decision, _ in _late_tasks(problem, decisions)
    }
    tasks = tuple(
        replace(task, window_s=np.maximum(task.window_s, enough_s.get(task.number, 0.0)))
        for task in problem.tasks
    )
    return replace(problem, tasks=tasks)


def _enough_s(task: TaskProblem, decision: TaskDecision) -> float:
    """The window that these decisions need [s]."""
    over = times_of(task, decision).end_s - task.window_s[decision.device]
    window = float(task.window_s[decision.device[int(np.argmax(over))]])
    return (window + float(over.max())) * MORE


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
    enough_s, slots = _enough_s(task, decision), int(np.argmax(over > 0))
    remedy = f"Raise window_s to {enough_s:.4g} s{stale}"
    if enough_s > limits_of(Task.model_fields["window_s"]).high:
        remedy = "No window is as long: raise bandwidths, powers, gains or frequencies"
    return BrokenLimit(
        f"tasks.{task.name}.window_s",
        f"must leave time for {task.slots} aggregations (rule S4)",
        ShownAsIs(value),
        f"{remedy}, or lower slots to {slots}." if slots else f"{remedy}.",
    )


def _can_pay(problem: Problem) -> bool:
    """Whether all batteries together can pay for all slots at the least work, each with its cheapest slot."""
    battery = problem.world.devices.battery_J
    least = np.full(problem.devices, np.inf)
    for task in problem.tasks:
        e, B = np.ceil(task.steps_range[0]), np.ceil(task.batch_range[0])
        compute = problem.energy_per_work(task) * e * B * task.lowest_Hz**2
        joules = problem.world.devices.uplink_power_W * task.upload_s.min(axis=1) + compute
        least[task.usable] = np.minimum(least[task.usable], joules[task.usable])
    jobs = float(np.floor(battery / least * (1 + 1e-12)).sum())
    return jobs >= sum(task.slots for task in problem.tasks)


def _too_small_batteries(problem: Problem, decisions: Sequence[TaskDecision]) -> list[BrokenLimit]:
    """All devices whose batteries these decisions overdraw, and a factor with which none is."""
    over, d = overdrawn(problem, decisions), problem.world.devices
    who = np.flatnonzero(over)[np.argsort(-over[np.flatnonzero(over)] / d.battery_J[np.flatnonzero(over)])]
    if not len(who):
        return []
    factor = _enough_factor(problem, who, float((1.0 + over[who] / d.battery_J[who]).max()) * MORE)
    named = [f"{d.id[i]} by {over[i]:.4g} of {d.battery_J[i]:.4g} J" for i in who[:MOST_NAMED].tolist()]
    more = f" and {len(who) - MOST_NAMED} more" if len(who) > MOST_NAMED else ""
    those = "that device" if len(who) == 1 else "those devices"
    return [
        BrokenLimit(
            "fleet.battery_J",
            f"must pay for {sum(task.slots for task in problem.tasks)} jobs (rule S6)",
            ShownAsIs(f"batteries that are short in the best plan found: device {', '.join(named)}{more}"),
            f"Raise battery_J of {those} by a factor of {_rounded_up(factor)}, or lower slots, steps_min or "
            "batch_min.",
        )
    ]


def _enough_factor(problem: Problem, who: IntArray, factor: float) -> float:
    """A factor of these batteries, not below the one given, with which a start of the search keeps all limits."""
    d = problem.world.devices
    for number in range(MOST_RAISED):
        battery_J = d.battery_J.copy()
        battery_J[who] *= factor
        raised = replace(problem, world=replace(problem.world, devices=replace(d, battery_J=battery_J)))
        starts = [least_energy(raised), [fastest(raised, task) for task in raised.tasks]]
        if any(not breaks_limits(raised, repaired(raised, start)) for start in starts):
            break
        factor *= RAISED ** (number + 1)
    return factor


def _rounded_up(factor: float) -> str:
    """Four digits, none less than the factor."""
    if not np.isfinite(factor):
        return str(factor)
    unit = 10.0 ** (np.floor(np.log10(factor)) - 3)
    return f"{np.ceil(factor / unit) * unit:.4g}"
