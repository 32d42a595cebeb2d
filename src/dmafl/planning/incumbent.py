"""What solvers find, and which of two is better."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dmafl.planning.decision import TaskDecision, cost_at, times_of, used_J
from dmafl.planning.problem import Problem


@dataclass(frozen=True, eq=False)
class Incumbent:
    """Whole decisions for all tasks, and what they cost."""

    decisions: list[TaskDecision]
    objective: float
    violation: float
    """The largest relative overrun of a window or battery."""


def incumbent_of(problem: Problem, decisions: list[TaskDecision]) -> Incumbent:
    """What these decisions cost, and by how much they miss limits."""
    objective = 0.0
    violation = float(np.max(used_J(problem, decisions) / problem.world.devices.battery_J)) - 1.0
    for task, decision in zip(problem.tasks, decisions, strict=True):
        times = times_of(task, decision)
        objective += cost_at(problem, task, decision, times).total
        violation = max(violation, float((times.end_s / task.window_s[decision.device] - 1.0).max()))
    return Incumbent(decisions, objective, max(violation, 0.0))


def better(a: Incumbent, b: Incumbent) -> Incumbent:
    """The one that keeps the limits, or breaks them less, or costs less."""
    return min(a, b, key=order)


ROUNDING = 1e-9
"""Share of a limit by which sums of many numbers may be off."""


def keeps_limits(incumbent: Incumbent) -> bool:
    """Whether no limit is broken."""
    return incumbent.violation <= ROUNDING


def order(incumbent: Incumbent) -> tuple[float, float]:
    """Those that keep the limits first, then by cost."""
    return max(incumbent.violation - ROUNDING, 0.0), incumbent.objective


def share_gained(before: float, after: float) -> float:
    """Share by which an objective has become smaller; 0 where it was 0 before, as with weights that are all 0."""
    return 1.0 - after / before if before else 0.0
