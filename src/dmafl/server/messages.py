"""What passes between policy, server and transport: orders, jobs, periods and events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

from dmafl.learning.arrays import Vector

Plain = dict[str, Any]
"""State as nested dicts, lists, numbers and text, for a checkpoint."""
Arrays = dict[str, NDArray[Any]]
"""The part of a state that is arrays, by name."""
LEFT, AWAY = "left", "away"
"""Why a job failed whose device left; and why a device takes no order that is to be asked when it joins."""


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

    @classmethod
    def from_plain(cls, given: Plain) -> Job:
        """From `dataclasses.asdict`."""
        return cls(given["id"], Dispatch(**given["dispatch"]), given["version"], given["number"])


class Period(NamedTuple):
    """Times [s] and energies [J] of a job as its transport knows them; a phase that has not ended takes 0 s.

    Energies that were not measured are None, never 0. So are `samples`, those the device has of the task, and
    `loss`, the mean loss of its training: the simulator computes none, since that would cost a pass over the data.
    """

    start_s: float
    idle_s: float = 0.0
    """Since the end of the device's period of this task before."""
    download_s: float = 0.0
    compute_s: float = 0.0
    upload_s: float = 0.0
    wait_s: float = 0.0
    """Between phases: for the device's CPU or radio, or for the slot before to complete."""
    frequency_Hz: float = 0.0
    """The CPU frequency that the job got; 0 where it never computed or this is not known."""
    uplink_J: float | None = None
    compute_J: float | None = None
    downlink_J: float | None = None
    samples: int | None = None
    loss: float | None = None


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


class Arrived(NamedTuple):
    """A local model has been uploaded; `period` is what its job took."""

    job: Job
    result: Result
    period: Period


@dataclass(frozen=True, slots=True)
class Failed:
    """A job ended without an upload; `device_lost` says whether its device can do more jobs of the task."""

    job: Job
    reason: str
    device_lost: bool
    period: Period


@dataclass(frozen=True, slots=True)
class Left:
    """A device has left, and its orders are void.

    Its jobs under way are reported as `Failed` all the same, before or after; no `Wake` follows for its orders.
    """

    device: int


@dataclass(frozen=True, slots=True)
class Joined:
    """A device has returned."""

    device: int


@dataclass(frozen=True, slots=True)
class Tick:
    """A time has come at which all models are to be tested."""


@dataclass(frozen=True, slots=True)
class Quiet:
    """Nothing has happened for as long as the server wanted to wait; something may still come."""


Event = Wake | Arrived | Failed | Left | Joined | Tick | Quiet
