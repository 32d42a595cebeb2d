"""Derivatives of a loss model: in the work of every job, and in times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.theory.jobs import TaskJobs


@dataclass(frozen=True, eq=False)
class Slopes:
    """Derivatives of a loss with respect to each job's steps and batch, (G,); times are held."""

    value: float
    """The loss, but for terms that only times change."""
    steps: FloatArray
    batch: FloatArray


@dataclass(frozen=True, eq=False)
class TimeSlopes:
    """Derivatives of a loss with respect to times; those of other jobs are held."""

    compute_s: FloatArray
    """To a second of a job's computation, by the device that does it, (I,)."""
    under_way_s: FloatArray
    """To a second from a job's download to its aggregation, (G,)."""
    horizon_s: float
    """To the end of the task."""


STEP = 1e-5
"""Relative change of steps or batch for a derivative by central differences."""


def slopes_by_differences(value: Callable[[TaskJobs], float], jobs: TaskJobs) -> Slopes:
    """Derivatives of `value` by central differences: 4 G evaluations."""
    of_steps, of_batch = np.empty(len(jobs)), np.empty(len(jobs))
    for k in range(len(jobs)):
        of_steps[k] = slope_of_job(value, jobs, "steps", k)
        of_batch[k] = slope_of_job(value, jobs, "batch", k)
    return Slopes(value(jobs), of_steps, of_batch)


def slope_of_job(value: Callable[[TaskJobs], float], jobs: TaskJobs, name: str, k: int) -> float:
    """Derivative of `value` in one column of job k by central differences."""
    column = getattr(jobs, name)
    change = STEP * float(column[k])
    ahead, behind = column.copy(), column.copy()
    ahead[k] += change
    behind[k] -= change
    return (value(jobs.with_(**{name: ahead})) - value(jobs.with_(**{name: behind}))) / (2.0 * change)
