"""The staleness factor that a task's settings ask for."""

from __future__ import annotations

from dmafl.learning.aggregation import Constant, Hinge, Polynomial, StalenessFactor
from dmafl.scenario.model import Task


def staleness_factor(task: Task) -> StalenessFactor:
    """phi of the task."""
    if task.staleness_weight == "hinge":
        return Hinge(task.staleness_a, task.staleness_b)
    return Polynomial(task.staleness_a) if task.staleness_weight == "polynomial" else Constant()
