"""What data drift adds to a loss, by the weights that a loss model gives it: slopes in times, and the relaxed form.

Two parts: drift_all, what the data of all devices drift until the last slot; and what they drift while each job is
under way (`dmafl.theory.drift`). How much more others' data drift during a job since they compute (`overlap`) is
piecewise linear in all times. It is left out of what a solver with derivatives sees, and put back as the slopes it has
at a solution (`overlap_pull`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.planning.loss_models.relaxed import RelaxedFrame, RelaxedSchedule
from dmafl.planning.loss_models.slopes import TimeSlopes
from dmafl.schedule.earliest_times import slope_in_lengths
from dmafl.theory.constants import Constants
from dmafl.theory.drift import drift_while_under_way
from dmafl.theory.jobs import TaskJobs


class DriftWeights(NamedTuple):
    """What drift adds to a loss."""

    of_all: float
    """Of a unit of drift_all."""
    under_way: FloatArray
    """Of a unit of drift while each job is under way, (G,)."""

    def times(self, factor: float) -> DriftWeights:
        """The same for `factor` times the loss."""
        return DriftWeights(factor * self.of_all, factor * self.under_way)


def time_slopes(weights: DriftWeights, c: Constants) -> TimeSlopes:
    """Derivatives of the drift terms with respect to times, for any device in place of each job's own."""
    return TimeSlopes(
        compute_s=np.asarray(
            weights.of_all * (c.drift_active - c.drift_idle)
            + float(weights.under_way.mean()) * (c.drift_active_size - c.drift_idle_size)
        ),
        under_way_s=weights.under_way * float(c.drift_idle_size.sum()),
        horizon_s=weights.of_all * float(c.drift_idle.sum()),
    )


def slopes_of_jobs(jobs: TaskJobs, c: Constants, weights: DriftWeights) -> tuple[FloatArray, FloatArray]:
    """The same for the jobs as they are, without `overlap`: of the end of each slot and of each T^C, (G,) each."""
    of_ends = np.zeros(len(jobs))
    of_ends[-1] = weights.of_all * float(c.drift_idle.sum())
    extra = (c.drift_active_size - c.drift_idle_size)[jobs.device]
    of_compute = weights.of_all * (c.drift_active - c.drift_idle)[jobs.device]
    of_compute = of_compute + weights.under_way * (float(c.drift_idle_size.sum()) + extra)
    return as_early_as_can_be(jobs, of_ends, of_compute)


def as_early_as_can_be(
    jobs: TaskJobs, of_ends: FloatArray, of_compute: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Where a late slot is worth something, no job waits for it: only longer jobs that make it late count."""
    late = np.minimum(of_ends, 0.0)
    if late.any():
        of_compute = of_compute + slope_in_lengths(jobs.version, jobs.end_s - jobs.start_s, late)
    return np.maximum(of_ends, 0.0), np.asarray(of_compute)


def overlap(jobs: TaskJobs, c: Constants) -> FloatArray:
    """By how much others' data drift more during each job since they compute, (G,)."""
    extra = (c.drift_active_size - c.drift_idle_size)[jobs.device]
    if not (bool((jobs.staleness > 0).any()) and bool(extra.any())):
        return np.zeros(len(jobs))
    alone = float(c.drift_idle_size.sum()) * (jobs.end_s - jobs.start_s) + extra * jobs.compute_s
    return drift_while_under_way(jobs, c) - alone


def overlap_pull(jobs: TaskJobs, c: Constants, weight: FloatArray) -> FloatArray:
    """Slopes of weight' overlap with respect to each T^C, (G,); every slot as early as can be."""
    extra = (c.drift_active_size - c.drift_idle_size)[jobs.device]
    if not (bool((jobs.staleness > 0).any()) and bool(extra.any()) and bool(weight.any())):
        return np.zeros(len(jobs))
    begin, done = jobs.start_s + jobs.download_s, jobs.end_s - jobs.upload_s
    of_end = weight * _inside(begin, done, extra, jobs.end_s)
    of_start = -weight * _inside(begin, done, extra, jobs.start_s)
    of_done = extra * (_inside(jobs.start_s, jobs.end_s, weight, done) - weight)
    of_begin = -extra * (_inside(jobs.start_s, jobs.end_s, weight, begin) - weight)
    of_tau = of_end + of_start + of_done + of_begin
    length = jobs.end_s - jobs.start_s
    return np.asarray(slope_in_lengths(jobs.version, length, of_tau) - of_start - of_begin)


def _inside(low: FloatArray, high: FloatArray, weight: FloatArray, at: FloatArray) -> FloatArray:
    """Total weight of the intervals that contain each of `at`."""
    total = np.zeros(len(at))
    for edges, sign in ((low, 1.0), (high, -1.0)):
        order = np.argsort(edges, kind="stable")
        passed = np.concatenate([[0.0], np.cumsum(weight[order])])
        total += sign * passed[np.searchsorted(edges[order], at)]
    return total


def relaxed_drift_of_all(at: RelaxedSchedule, c: Constants) -> tuple[float, RelaxedSchedule]:
    """drift_all of a relaxed schedule, and its derivatives."""
    z, difference = at.x.sum(axis=2), c.drift_active - c.drift_idle
    gained = z @ difference
    idle = float(c.drift_idle.sum())
    end_s = np.zeros_like(at.end_s)
    end_s[-1] = idle
    x = (at.compute_s[:, None] * difference)[:, :, None] * np.ones_like(at.x)
    none = np.zeros_like(at.steps)
    value = idle * float(at.end_s[-1]) + float(gained @ at.compute_s)
    return value, RelaxedSchedule(x, none, none, gained, end_s)


def relaxed_under_way(
    at: RelaxedSchedule, c: Constants, frame: RelaxedFrame, weight: FloatArray
) -> tuple[float, RelaxedSchedule]:
    """sum of weight times 4 times the drift between download and aggregation of a job; `weight` is (G, S).

    All devices drift at their idle rate, and the job's own device at its active rate while it computes; that others
    may compute at the same time is left out.
    """
    extra = (c.drift_active_size - c.drift_idle_size)[None, :, None]
    idle = float(c.drift_idle_size.sum())
    compute = at.compute_s[:, None, None]
    each = 4.0 * weight[:, None, :] * (idle * (compute + frame.transfer_s) + extra * compute)
    slope = 4.0 * (at.x * weight[:, None, :] * (idle + extra)).sum(axis=(1, 2))
    none = np.zeros_like(at.steps)
    return float((at.x * each).sum()), RelaxedSchedule(each, none, none, slope, none)
