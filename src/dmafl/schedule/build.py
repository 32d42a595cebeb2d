"""Schedules without a planner: given which device completes which slot with which work, the earliest possible times."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.schedule.earliest_times import ROUNDING, first_fit, one_after_another, still_current
from dmafl.schedule.jobs import Schedule
from dmafl.world.mobility import Static
from dmafl.world.world import World

MAX_SHIFTS = 50
"""A shift changes the distance of a moving device and so its transfer times: shift again until they agree."""


class SlotWork(NamedTuple):
    """The work of a task by slot, (G,) each: which device completes it, with how many steps, batch and frequency."""

    device: IntArray
    steps: IntArray
    batch: IntArray
    frequency_Hz: FloatArray


def round_robin(
    world: World, *, in_flight: int = 1, steps: int | None = None, batch: int | None = None
) -> Schedule:
    """Devices take turns in every task, `in_flight` of them at a time, each task with its share of the CPU.

    With `in_flight` = 1 every job receives the freshest model. Steps and batch default to the middle of the
    task's ranges; frequencies to f^max / J.
    """
    devices = np.arange(world.device_count)
    share_Hz = np.maximum(world.devices.frequency_max_Hz / world.task_count, world.devices.frequency_min_Hz)
    parts = []
    for j, task in enumerate(world.scenario.tasks.values()):
        # Tasks start with different devices, so that they do not queue up on one.
        order = np.resize(np.roll(devices, -j * world.device_count // world.task_count), task.slots)
        e = steps if steps is not None else (task.steps_min + task.steps_max) // 2
        B = batch if batch is not None else min((task.batch_min + task.batch_max) // 2, task.samples_at_start)
        allowed = min(in_flight, task.max_staleness + 1, world.device_count)
        work = SlotWork(order, np.full(task.slots, e), np.full(task.slots, B), share_Hz[order])
        parts.append(earliest(world, j, work, allowed))
    return concatenate(parts)


def earliest(world: World, task: int, work: SlotWork, in_flight: int) -> Schedule:
    """The jobs of one task, as early as rules S0-S3 allow, with at most `in_flight` of them at a time.

    Slot by slot, every version that a job may receive is tried, and the one that completes the slot first is used;
    the freshest is always possible.
    """
    device, n = work.device, len(work.device)
    if in_flight == 1 and isinstance(world.mobility, Static):
        return _one_after_another(world, task, work)
    compute_s = world.compute_s(device, np.full(n, task), work.steps, work.batch, work.frequency_Hz)
    transfers_s = _transfers(world, task, device, in_flight)
    tau = [0.0] * (n + 1)  # tau[g + 1] is when slot g completes; tau[0] = 0
    free_s, last_slot = [0.0] * world.device_count, [-1] * world.device_count
    version, start_s = np.zeros(n, dtype=np.int64), np.zeros(n)
    for g in range(n):
        i, work_s = int(device[g]), float(compute_s[g])
        best, before_s = np.inf, tau[g] * (1 - ROUNDING)
        wait_s = partial(_wait_s, tau[g])
        for v in range(max(0, g - in_flight + 1, last_slot[i] + 1), g + 1):
            transfers_of_job_s = partial(transfers_s, g, v, work_s)
            earliest_s = max(free_s[i], tau[v])
            begin, _, _, end = first_fit(earliest_s, work_s, transfers_of_job_s, wait_s, MAX_SHIFTS)
            if before_s <= end < best and still_current(v, g, begin, tau):
                best, version[g], start_s[g] = end, v, begin
        tau[g + 1] = free_s[i] = best
        last_slot[i] = g
    return _schedule(task, work, version, start_s)


def _wait_s(before_s: float, start_s: float, down_s: float, up_s: float, end_s: float) -> float:
    """How much later a job must start [s] so that it does not end before the previous slot completes, at `before_s`."""
    return 0.0 if end_s >= before_s * (1 - ROUNDING) else before_s - end_s


def concatenate(parts: list[Schedule]) -> Schedule:
    """The jobs of several schedules in one."""
    return Schedule.from_columns(
        {name: np.concatenate([part.columns()[name] for part in parts]) for name in parts[0].columns()}
    )


def _one_after_another(world: World, task: int, work: SlotWork) -> Schedule:
    """Each job starts when the previous slot completes, with the freshest model: its time is a cumulative sum."""
    device, n = work.device, len(work.device)
    j, slot, when = np.full(n, task), np.arange(n), np.zeros(n)
    length_s = (
        world.download_s(device, j, slot, when)
        + world.compute_s(device, j, work.steps, work.batch, work.frequency_Hz)
        + world.upload_s(device, j, slot, when)
    )
    start_s, _ = one_after_another(length_s)
    return _schedule(task, work, slot, start_s)


def _transfers(
    world: World, task: int, device: IntArray, in_flight: int
) -> Callable[[int, int, float, float], tuple[float, float]]:
    """Downlink and uplink time [s] as a function of slot, version, computing time and start."""
    n = len(device)
    j = np.full(n, task)
    if isinstance(world.mobility, Static):
        # Transfer times do not depend on time: compute all of them at once, then look them up.
        when, slot = np.zeros(n), np.arange(n)
        up = world.upload_s(device, j, slot, when).tolist()
        down = [
            world.download_s(device, j, np.maximum(slot - age, 0), when).tolist() for age in range(in_flight)
        ]
        return lambda g, v, work_s, begin: (down[g - v][g], up[g])

    def at_time(g: int, v: int, work_s: float, begin: float) -> tuple[float, float]:
        job = slice(g, g + 1)
        down_s = world.download_s(device[job], j[job], np.asarray([v]), np.asarray([begin]))
        up_s = world.upload_s(device[job], j[job], np.asarray([g]), begin + down_s + work_s)
        return float(down_s[0]), float(up_s[0])

    return at_time


def _schedule(task: int, work: SlotWork, version: IntArray, start_s: FloatArray) -> Schedule:
    n = len(work.device)
    placed = {"task": np.full(n, task), "version": version, "slot": np.arange(n), "start_s": start_s}
    return Schedule.from_columns(placed | work._asdict())
