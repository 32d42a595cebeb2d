"""A local model on its way into the global one: who sent it, and whether it may be used."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from math import isfinite, sqrt
from typing import Any, NamedTuple

import numpy as np

from dmafl.learning.arrays import Vector
from dmafl.server.messages import Dispatch, Job, Period

MOST_SAMPLES = 10**12
"""No device has more of a task."""


class Update(NamedTuple):
    """What an aggregator learns of a local model."""

    device: int
    task: int
    local: Vector
    """The model that the device made of `received`."""
    received: Vector
    staleness: int
    """Slots completed since the version that it received."""
    steps: int
    samples: int | None
    """Samples that the device has of the task; None where this is not known."""
    loss: float | None
    """Mean loss of its training; None where the device does not report it. The simulator does not compute it."""


class UpdateCheck(Enum):
    """What is wrong with an update; the value is the reason that records name."""

    FINE = ""
    DIVERGED = "not finite"
    UNKNOWN_JOB = "of no job under way"
    TASK_DONE = "of a task that has all its slots"
    GIVEN_UP = "of a device that had left meanwhile"
    OTHER_TASK = "of another task than its job"
    OTHER_JOB = "of another device or version than its job"
    WRONG_SIZE = "of another size than the model"
    WRONG_TYPE = "of another type than the model"
    WRONG_LAYOUT = "not one block of numbers in their order"
    WRONG_REPORT = "with times, energies, samples or a loss that cannot be"
    NORM_TOO_LARGE = "farther from the model received than allowed"
    OVERFLOW = "too large to be mixed in"

    @property
    def ends_job(self) -> bool:
        """Whether the job is over; a message that is not about a job under way ends none."""
        return self not in (
            UpdateCheck.UNKNOWN_JOB,
            UpdateCheck.TASK_DONE,
            UpdateCheck.OTHER_TASK,
            UpdateCheck.OTHER_JOB,
        )


def claimed(jobs: Mapping[int, Job], job: Job) -> Job | None:
    """That of `jobs` whose id a message has; an id that is no whole number is not looked up."""
    return jobs.get(job.id) if type(job.id) is int else None


def check_job(expected: Job | None, job: Job) -> UpdateCheck:
    """Whether `job`, as a message names it, is `expected`, the one that has its id."""
    if expected is None:
        return UpdateCheck.UNKNOWN_JOB
    if expected is job or expected == job:
        return UpdateCheck.FINE
    same_task = isinstance(job.dispatch, Dispatch) and expected.dispatch.task == job.dispatch.task
    return UpdateCheck.OTHER_JOB if same_task else UpdateCheck.OTHER_TASK


def check_update(local: Any, received: Vector, period: Period, max_norm: float | None = None) -> UpdateCheck:
    """Whether `local` may be mixed in as what a device made of `received`, and `period` can be true.

    `max_norm` limits the Euclidean norm of the change, where it is set. Nothing is taken for a model but an array that
    is laid out as one: a masked array, for one, hides from a check what it adds to a sum.
    """
    if not can_be(period) or period.samples == 0:
        return UpdateCheck.WRONG_REPORT
    if type(local) is not np.ndarray:
        return UpdateCheck.WRONG_TYPE
    if local.shape != received.shape:
        return UpdateCheck.WRONG_SIZE
    if local.dtype != received.dtype:
        return UpdateCheck.WRONG_TYPE
    if not local.flags.c_contiguous:
        return UpdateCheck.WRONG_LAYOUT
    if not is_finite(local):
        return UpdateCheck.DIVERGED
    if max_norm is not None and _norm(_change(local, received)) > max_norm:
        return UpdateCheck.NORM_TOO_LARGE
    return UpdateCheck.FINE


def is_finite(model: Vector) -> bool:
    """Whether every number of a model is."""
    # The squared norm takes half of the time. It is finite only if all numbers are, but not if one is above 1e19.
    with np.errstate(over="ignore", invalid="ignore"):
        norm2 = np.dot(model, model)
    return isfinite(norm2) or bool(np.isfinite(model).all())


def can_be(period: Any) -> bool:
    """Whether a report of times, energies, samples and loss can be true: finite, and nothing below zero.

    What nobody measured is None; a job that has not computed yet has 0 samples. Idle and waiting
    times are differences, whose rounding may be below zero.
    """
    if not isinstance(period, Period):
        return False
    spent = (period.uplink_J, period.compute_J, period.downlink_J)
    at_least_0 = [value for value in spent if value is not None]
    at_least_0 += (period.download_s, period.compute_s, period.upload_s, period.frequency_Hz)
    loss = 0.0 if period.loss is None else period.loss
    try:
        finite = all(map(isfinite, (*at_least_0, period.start_s, period.idle_s, period.wait_s, loss)))
    except (TypeError, ValueError, OverflowError):  # text, a list, a whole number beyond all floats
        return False
    return finite and min(at_least_0) >= 0 and _can_be_samples(period.samples)


def credible(period: Period, now: float) -> Period:
    """What a message says that its job took; nothing where that cannot be."""
    return period if can_be(period) else Period(now)


def clipped(local: Vector, received: Vector, clip_norm: float) -> Vector:
    """`local` itself if its change is not longer than `clip_norm`; else what that change makes, scaled to this norm."""
    change = _change(local, received)
    norm = _norm(change)
    if norm <= clip_norm:
        return local
    return np.asarray(received + change * (clip_norm / norm), dtype=received.dtype)


def _can_be_samples(samples: Any) -> bool:
    return samples is None or (isinstance(samples, int | np.integer) and samples in range(MOST_SAMPLES))


def _change(local: Vector, received: Vector) -> np.ndarray[Any, np.dtype[np.float64]]:
    """In double precision, where the square of no single number is too large."""
    return local.astype(np.float64) - received


def _norm(change: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    return sqrt(change @ change)
