"""How much the global loss drifts: over a whole schedule, and while each job is under way."""

from __future__ import annotations

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.theory.constants import Constants
from dmafl.theory.jobs import TaskJobs


def computed_s(jobs: TaskJobs, devices: int) -> FloatArray:
    """C_i: how long each device computes the task in all [s], (I,)."""
    return np.asarray(np.bincount(jobs.device, jobs.compute_s, minlength=devices), dtype=np.float64)


def drift_of_all(jobs: TaskJobs, constants: Constants) -> float:
    """What all devices' data add to the global loss until the last slot, sum_i D^ID_i (H - C_i) + D^AC_i C_i.

    Differs from term (f) of Theorem 1, which charges idle time only before a completed job.
    """
    C = computed_s(jobs, constants.devices)
    return float(constants.drift_idle @ (jobs.horizon_s - C) + constants.drift_active @ C)


def drift_of_schedules(
    device: IntArray, compute_s: FloatArray, horizon_s: FloatArray, constants: Constants
) -> FloatArray:
    """The same of many schedules, (n,), from devices and computing times by schedule and slot, (n, G)."""
    extra = (constants.drift_active - constants.drift_idle)[device] * compute_s
    return np.asarray(float(constants.drift_idle.sum()) * horizon_s + extra.sum(axis=1))


def drift_while_under_way(jobs: TaskJobs, constants: Constants) -> FloatArray:
    """Absolute drift of the global loss, all devices, between download and aggregation of each job, (G,)."""
    idle, active = constants.drift_idle_size, constants.drift_active_size
    # Devices drift at their idle rate all the time, and at the difference to the active rate while they compute:
    # one piecewise linear function of time for all devices together.
    extra = (active - idle)[jobs.device]
    begin = jobs.start_s + jobs.download_s
    times = np.concatenate([begin, begin + jobs.compute_s])
    slopes = np.concatenate([extra, -extra])
    order = np.argsort(times, kind="stable")
    knots = times[order]
    slope = np.cumsum(slopes[order])
    height = np.concatenate([[0.0], np.cumsum(slope[:-1] * np.diff(knots))])
    gained = np.interp(jobs.end_s, knots, height) - np.interp(jobs.start_s, knots, height)
    drifted = float(idle.sum()) * (jobs.end_s - jobs.start_s) + gained
    return np.asarray(np.maximum(drifted, 0.0))
