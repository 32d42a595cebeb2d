"""What passes between policy, server and transport."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from dmafl.learning.arrays import Vector


@dataclass(frozen=True, slots=True)
class Dispatch:
    """An order to a device: receive the current model of `task` at `start_s` or later, train, upload.

    `version` > 0 waits for that version; `slot` >= 0 says which slot a plan means the upload to complete.
    """

    task: int
    device: int
    start_s: float
    steps: int
    batch: int
    frequency_Hz: float
    version: int = 0
    slot: int = -1


@dataclass(frozen=True, slots=True)
class Job:
    """An order under way: the `number`-th of its (device, task), begun with global model `version`."""

    id: int
    dispatch: Dispatch
    version: int
    number: int


class Result(Protocol):
    """A local model that may still be computed."""

    def done(self) -> bool:
        """Whether `result` would return at once."""
        ...

    def result(self) -> Vector:
        """The local model."""
        ...


@dataclass(frozen=True, slots=True)
class Wake:
    """The time of an order has come."""

    dispatch: Dispatch


@dataclass(frozen=True, slots=True)
class Arrived:
    """A local model has been uploaded."""

    job: Job
    result: Result


@dataclass(frozen=True, slots=True)
class Failed:
    """A job ended without an upload."""

    job: Job
    reason: str


@dataclass(frozen=True, slots=True)
class Left:
    """A device is gone."""

    device: int


@dataclass(frozen=True, slots=True)
class Joined:
    """A device is back."""

    device: int


Event = Wake | Arrived | Failed | Left | Joined


class Transport(Protocol):
    """What the server speaks to: a virtual clock, or real machines."""

    @property
    def now(self) -> float:
        """The time [s]."""
        ...

    def wake(self, dispatch: Dispatch) -> None:
        """Ask for `Wake(dispatch)` at its start."""
        ...

    def refusal(self, dispatch: Dispatch, version: int) -> str:
        """Why the device cannot take this order now (battery, window), or nothing."""
        ...

    def dispatch(self, job: Job, model: Vector) -> None:
        """Send `model` to the job's device, to be trained as the job says."""
        ...

    def next_event(self) -> Event | None:
        """The next event in time, or None when nothing is under way."""
        ...

    def aggregated(self, task: int, version: int) -> None:
        """The server has made `version` of `task`."""
        ...

    def finished(self, task: int) -> None:
        """The server wants nothing more of `task`."""
        ...


Plain = dict[str, Any]
"""State as nested dicts, lists, numbers and text, for a checkpoint."""
