"""A local model on its way into the global one: who sent it, and whether it may be used."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import numpy as np

from dmafl.learning.arrays import Vector
from dmafl.server.messages import Job


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
    GIVEN_UP = "of a device that had left meanwhile"
    OTHER_TASK = "of another task than its job"
    OTHER_JOB = "of another device or version than its job"
    WRONG_SIZE = "of another size than the model"
    WRONG_TYPE = "of another type than the model"
    NORM_TOO_LARGE = "farther from the model received than allowed"

    @property
    def usable(self) -> bool:
        """Whether the update takes its slot; one that is not finite does so with weight 0."""
        return self in (UpdateCheck.FINE, UpdateCheck.DIVERGED)

    @property
    def ends_job(self) -> bool:
        """Whether the job is over; a message that is not about a job under way ends none."""
        return self not in (UpdateCheck.UNKNOWN_JOB, UpdateCheck.OTHER_TASK, UpdateCheck.OTHER_JOB)


def check_update(
    expected: Job | None, job: Job, local: Vector, received: Vector, max_norm: float | None = None
) -> UpdateCheck:
    """Whether `local` is an update of `expected`, the job under way with the id of `job`, which received `received`.

    `max_norm` limits the Euclidean norm of the change, where it is set.
    """
    if expected is None:
        return UpdateCheck.UNKNOWN_JOB
    if expected is not job and expected != job:
        same_task = expected.dispatch.task == job.dispatch.task
        return UpdateCheck.OTHER_JOB if same_task else UpdateCheck.OTHER_TASK
    if local.shape != received.shape:
        return UpdateCheck.WRONG_SIZE
    if local.dtype != received.dtype:
        return UpdateCheck.WRONG_TYPE
    if not np.logical_and.reduce(np.isfinite(local)):  # half of `.all()`'s time for a small model
        return UpdateCheck.DIVERGED
    if max_norm is not None:
        change = local.astype(np.float64) - received
        if float(np.sqrt(change @ change)) > max_norm:
            return UpdateCheck.NORM_TOO_LARGE
    return UpdateCheck.FINE
