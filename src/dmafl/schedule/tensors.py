"""The paper's scheduling tensors and rect functions, as views of the job list."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dmafl.base.arrays import FloatArray
from dmafl.schedule.jobs import Schedule
from dmafl.schedule.timeline import Timeline

Binary = NDArray[np.uint8]


def receive_tensor(schedule: Schedule, task: int, devices: int, slots: int) -> Binary:
    """R: 1 where device i receives version g of the task, shape (I, G). Definition 3."""
    jobs = schedule.take(schedule.task == task)
    R = np.zeros((devices, slots), dtype=np.uint8)
    R[jobs.device, jobs.version] = 1
    return R


def upload_tensor(schedule: Schedule, task: int, devices: int, slots: int) -> Binary:
    """U: 1 where device i completes slot g of the task, shape (I, G). Definition 3."""
    jobs = schedule.take(schedule.task == task)
    U = np.zeros((devices, slots), dtype=np.uint8)
    U[jobs.device, jobs.slot] = 1
    return U


def schedule_tensor(schedule: Schedule, task: int, devices: int, slots: int) -> Binary:
    """X: 1 where device i receives version g and completes slot g' with it, shape (I, G, G). Definition 3."""
    jobs = schedule.take(schedule.task == task)
    X = np.zeros((devices, slots, slots), dtype=np.uint8)
    X[jobs.device, jobs.version, jobs.slot] = 1
    return X


def tensor_from_receives_and_uploads(R: Binary, U: Binary) -> Binary:
    """X^{g,g'} = R^(g) U^(g') prod_{k=g}^{g'-1} (1 - U^(k)) for g <= g'. Fact 1, corrected.

    Differs from Fact 1, which swaps R and U and starts the product at g+1 (docs/equations.md).
    """
    devices, slots = R.shape
    X = np.zeros((devices, slots, slots), dtype=np.uint8)
    for g in range(slots):
        waiting = R[:, g].copy()
        for g_up in range(g, slots):
            X[:, g, g_up] = waiting * U[:, g_up]
            waiting = waiting * (1 - U[:, g_up])
    return X


def active_rect(schedule: Schedule, timeline: Timeline, time_s: FloatArray) -> Binary:
    """y^AC(t): 1 while a job computes, shape (n, len(t)). Definition 5."""
    t = np.asarray(time_s)
    begin, end = timeline.compute_start_s[:, None], timeline.upload_start_s[:, None]
    return ((begin <= t) & (t < end)).astype(np.uint8)


def idle_rect(schedule: Schedule, timeline: Timeline, time_s: FloatArray) -> Binary:
    """y^ID(t): 1 while a job's local period idles, downloads or uploads, shape (n, len(t)). Definition 5.

    Differs from Eq. (auxiliary_idle), which treats these three as one interval (docs/equations.md).
    """
    t = np.asarray(time_s)
    begin, end = (schedule.start_s - timeline.idle_s)[:, None], timeline.end_s[:, None]
    in_period = ((begin <= t) & (t < end)).astype(np.uint8)
    return in_period * (1 - active_rect(schedule, timeline, t))
