"""The interface between server and devices: a virtual clock, or real machines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from dmafl.learning.arrays import Vector
from dmafl.server.messages import Arrays, Arrived, Dispatch, Event, Job, Period, Plain

ModelOf = Callable[[int, int], Vector]
"""(task, version) -> the global model that jobs under way have received."""


class Transport(Protocol):
    """Carries models to devices and back. Every job it was given is reported once, as `Arrived` or as `Failed`."""

    @property
    def now(self) -> float:
        """The time [s]."""
        ...

    def wake(self, dispatch: Dispatch) -> None:
        """Ask for `Wake(dispatch)` at its start."""
        ...

    def refusal(self, dispatch: Dispatch, version: int) -> str:
        """Why the device cannot take this order now (`battery`, `window`, `away`); empty if it can."""
        ...

    def dispatch(self, job: Job, model: Vector) -> None:
        """Send `model` to the job's device, to be trained as the job says."""
        ...

    def next_event(self, timeout_s: float | None = None) -> Event | None:
        """The next event in time; `Quiet` if there is none within `timeout_s` of real time.

        None when nothing is under way and nothing will come. Without `timeout_s` it waits for as long as it takes.
        """
        ...

    def aggregated(self, task: int, version: int) -> None:
        """The server has made `version` of `task`."""
        ...

    def finished(self, task: int) -> Sequence[tuple[Job, Period]]:
        """The server wants nothing more of `task`: the jobs that end here, as far as they have come."""
        ...

    def state(self, waiting: Arrived | None) -> tuple[Plain, Arrays]:
        """Everything that `restore` needs but the models sent out; `waiting` has arrived and is not taken yet."""
        ...

    def restore(self, plain: Plain, arrays: Arrays, model_of: ModelOf) -> Arrived | None:
        """Go on from `state`; what was `waiting` then."""
        ...
