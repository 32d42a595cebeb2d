"""A job on the virtual clock: what has happened to it so far."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from dmafl.server.messages import Job, Period, Plain


@dataclass(slots=True)
class ActiveJob:
    """Times [s] and energies [J] of a job's phases; a phase that has not ended is 0 and not booked."""

    job: Job
    idle_s: float
    start_s: float
    download_s: float = 0.0
    compute_s: float = 0.0
    upload_s: float = 0.0
    wait_s: float = 0.0
    """Between phases: for the device's CPU or radio, or for the slot before it to complete."""
    frequency_Hz: float = 0.0
    samples: int = 0
    progress: float = 0.0
    """How far the device's stream had come when it began to compute."""
    upload_start_s: float = 0.0
    uplink_J: float = 0.0
    compute_J: float = 0.0
    downlink_J: float = 0.0
    reserved_J: float = 0.0
    """Of the battery, what it was expected to cost when it was ordered."""
    committed_J: float = 0.0
    """Of the battery, what its computation costs, from its start."""

    @property
    def computing(self) -> bool:
        """Whether its computation has begun and is not booked."""
        return bool(self.compute_s and not self.compute_J)

    def period(self) -> Period:
        """What it took, as the server and its records see it; the training loss is not computed."""
        return Period(
            self.start_s,
            self.idle_s,
            self.download_s,
            self.compute_s,
            self.upload_s,
            self.wait_s,
            self.frequency_Hz,
            self.uplink_J,
            self.compute_J,
            self.downlink_J,
            self.samples,
        )

    def plain(self) -> Plain:
        """As plain values, for a checkpoint."""
        return asdict(self)

    @classmethod
    def from_plain(cls, given: Plain) -> ActiveJob:
        """From `plain`."""
        return cls(**{**given, "job": Job.from_plain(given["job"])})
