"""The mixing that a task's settings ask for; one setting for all asynchronous schemes of a comparison."""

from __future__ import annotations

from dmafl.learning.aggregation import Constant, Hinge, Polynomial, StalenessFactor
from dmafl.scenario.model import Task
from dmafl.server.aggregators import MixAtOnce


def staleness_factor(task: Task) -> StalenessFactor:
    """phi of the task."""
    if task.staleness_weight == "hinge":
        return Hinge(task.staleness_a, task.staleness_b)
    return Polynomial(task.staleness_a) if task.staleness_weight == "polynomial" else Constant()


def mix_at_once(task: Task) -> MixAtOnce:
    """The aggregator of the task in asynchronous schemes."""
    return MixAtOnce(task.mixing, staleness_factor(task), task.mix_decay or None)
