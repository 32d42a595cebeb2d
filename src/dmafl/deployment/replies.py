"""What the server makes of a reply: the job that it claims, a model and a report, each as they are, never trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dmafl.deployment.link import Content
from dmafl.deployment.wire import DECLINED, MODEL, NUMBER_BYTES, PROTOCOL, PROTOCOL_ENTRY
from dmafl.server.messages import Dispatch, Job, Period

CLOCK_DRIFT = 1e-3
"""A device's clock may go so much faster than the server's."""
CLOCK_STEP_S = 0.05
"""Phases that a device reports may be longer by this than the server waited, for its clock is read in steps."""


@dataclass(frozen=True, slots=True)
class Given:
    """A result that is there."""

    value: Any

    def done(self) -> bool:
        """It is there."""
        return True

    def result(self) -> Any:
        """The local model, or whatever came in its place."""
        return self.value


@dataclass(frozen=True, slots=True)
class Span:
    """When the server sent a job out, and how long its device had been idle by then [s]."""

    start_s: float
    idle_s: float


def claimed_job(content: Content, ours: Job | None, tasks: Sequence[str], device: int) -> Job:
    """The job that a reply of `device` says it is of; `ours` itself where all that it says is that."""
    told = content.get(PROTOCOL_ENTRY)
    job_id, version = (_whole(content.get(name)) for name in ("job", "version"))
    task = content.get("task")
    place = tasks.index(task) if isinstance(task, str) and task in tasks else -1
    if type(told) is not int or told != PROTOCOL or _whole(content.get("device")) != device:
        job_id = -1  # it speaks another language, or for another device
    if ours is not None and (job_id, place, device, version) == (
        ours.id,
        ours.dispatch.task,
        ours.dispatch.device,
        ours.version,
    ):
        return ours
    return Job(job_id, Dispatch(place, device, 0.0, 0, 0, 0.0), version, -1)


def model_in(content: Content) -> Any:
    """The numbers of a reply; None where it has none."""
    given = content.get(MODEL)
    if not isinstance(given, bytes) or len(given) % NUMBER_BYTES:
        return None
    return np.frombuffer(given, dtype="<f4").astype(np.float32)


def declined_because(content: Content) -> str | None:
    """Why a device did not do its job; None where it did."""
    reason = content.get(DECLINED)
    return reason if isinstance(reason, str) else None


def period_in(content: Content, span: Span, now: float) -> Any:
    """What a reply says that its job took, fitted into the time that the server waited; None where that cannot be.

    Energy is that of the whole machine while it computed; what a radio takes is not told apart, and so not known.
    """
    download_s, compute_s, upload_s = (
        content.get(f"{phase}_s", 0.0) for phase in ("download", "compute", "upload")
    )
    phases = (download_s, compute_s, upload_s)
    if not all(_is_duration(phase) for phase in phases):
        return None
    elapsed_s, reported_s = now - span.start_s, sum(phases)
    if reported_s > elapsed_s * (1 + CLOCK_DRIFT) + CLOCK_STEP_S:
        return None
    shrink = min(1.0, elapsed_s / reported_s) if reported_s > 0 else 1.0
    download_s, compute_s, upload_s = (float(phase) * shrink for phase in phases)
    return Period(
        span.start_s,
        span.idle_s,
        download_s,
        compute_s,
        upload_s,
        max(0.0, elapsed_s - download_s - compute_s - upload_s),
        frequency_Hz=0.0,
        compute_J=content.get("joules"),
        samples=content.get("samples"),
        loss=content.get("loss"),
    )


def _whole(value: Any) -> int:
    return value if type(value) is int else -1


def _is_duration(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and 0 <= value < float("inf")
