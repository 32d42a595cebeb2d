"""The mixing that a task's settings ask for; one setting for all asynchronous schemes of a comparison."""

from __future__ import annotations

from dmafl.scenario.model import Task
from dmafl.server.aggregators import MixAtOnce
from dmafl.theory.mixing import staleness_factor


def mix_at_once(task: Task) -> MixAtOnce:
    """The aggregator of the task in asynchronous schemes."""
    return MixAtOnce(task.mixing, staleness_factor(task), task.mix_decay or None)
