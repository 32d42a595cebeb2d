"""A local period on the virtual clock: what has happened to a job so far."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from dmafl.server.messages import Dispatch, Job


@dataclass(slots=True)
class Period:
    """Times [s] and energies [J] of a job's phases; a phase that has not ended is 0 and not booked.

    `wait_s` is time between phases: for the device's CPU or radio, or for the slot before it to complete.
    """

    job: Job
    idle_s: float
    start_s: float
    download_s: float = 0.0
    compute_s: float = 0.0
    upload_s: float = 0.0
    wait_s: float = 0.0
    frequency_Hz: float = 0.0
    samples: int = 0
    share: float = 0.0
    upload_start_s: float = 0.0
    uplink_J: float = 0.0
    compute_J: float = 0.0
    downlink_J: float = 0.0
    reserved_J: float = 0.0
    committed_J: float = 0.0

    def plain(self) -> dict[str, Any]:
        """As plain values, for a checkpoint."""
        return asdict(self)

    @classmethod
    def from_plain(cls, given: dict[str, Any]) -> Period:
        """From `plain`."""
        job = given["job"]
        whole = Job(job["id"], Dispatch(**job["dispatch"]), job["version"], job["number"])
        return cls(**{**given, "job": whole})
