"""Who writes down what a server does."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from dmafl.learning.arrays import Vector
from dmafl.server.messages import Job, Period
from dmafl.server.updates import UpdateCheck


class Taken(NamedTuple):
    """A local model as the server took it, with the period of its job.

    One that is not `finite` completed its slot, or took its place in a round, and changed nothing: its weight is 0.
    """

    job: Job
    period: Period
    slot: int
    staleness: int
    weight: float
    aggregated: bool
    finite: bool
    received: Vector
    local: Vector
    """As it was mixed in."""
    clipped: bool = False
    """Whether its change was scaled down first."""


class Recorder(Protocol):
    """Records events; makes no decisions."""

    def on_update(self, taken: Taken, now: float) -> None:
        """A local model was taken."""
        ...

    def on_refused(self, job: Job, period: Period, check: UpdateCheck, now: float) -> None:
        """A local model was not taken, since something is wrong with it.

        `job` is what its sender says where the check does not end the job; else it is the server's own.
        """
        ...

    def on_unfinished(self, job: Job, period: Period, outcome: str, now: float) -> None:
        """A job ended without an upload: `failed: reason`, or `unfinished` when its task was done."""
        ...

    def on_aggregation(self, task: int, version: int, model: Vector, now: float) -> None:
        """A global model was made (version 0: the first one)."""
        ...

    def on_device_lost(self, task: int, device: int, reason: str, now: float) -> None:
        """A device will not be asked again for the task, unless it joins anew; `left` is said for every task."""
        ...

    def on_device_left(self, device: int, now: float) -> None:
        """A device has left."""
        ...

    def on_device_joined(self, device: int, now: float) -> None:
        """A device has returned."""
        ...

    def on_tick(self, now: float) -> None:
        """A time has come at which all models are to be tested."""
        ...
