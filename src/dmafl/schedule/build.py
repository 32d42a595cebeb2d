"""Schedules made by hand: given who completes which slot with what work, find the earliest executable times."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dmafl.schedule.jobs import Schedule
from dmafl.world.world import World


def round_robin(world: World, *, in_flight: int = 1, steps: int | None = None, batch: int | None = None) -> Schedule:
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
        parts.append(earliest(world, j, order, np.full(task.slots, e), np.full(task.slots, B), share_Hz[order], allowed))
    return concatenate(parts)


def earliest(
    world: World,
    task: int,
    device: NDArray[np.int64],
    steps: NDArray[np.int64],
    batch: NDArray[np.int64],
    frequency_Hz: NDArray[np.float64],
    in_flight: int,
) -> Schedule:
    """The jobs of one task, as early as rules S0-S3 allow, with at most `in_flight` of them at a time.

    Slot g is completed by `device[g]`. Slot by slot, every version that it may receive is tried, and the one that
    completes the slot first is taken; the freshest is always possible.
    """
    n = len(device)
    j = np.asarray(task)
    compute_s = world.compute_s(device, np.full(n, task), steps, batch, frequency_Hz)
    tau = np.zeros(n + 1)  # tau[g + 1] is when slot g completes; tau[0] = 0
    free_s, last_slot = np.zeros(world.device_count), np.full(world.device_count, -1)
    version, start_s = np.zeros(n, dtype=np.int64), np.zeros(n)
    for g in range(n):
        i = int(device[g])
        best = np.inf
        for v in range(max(0, g - in_flight + 1, int(last_slot[i]) + 1), g + 1):
            begin = max(free_s[i], tau[v])
            for _ in range(2):  # a shift changes the distance of a moving device: one correction is enough
                down_s = float(world.download_s(device[g], j, np.asarray(v), np.asarray(begin)))
                upload_from_s = begin + down_s + compute_s[g]
                up_s = float(world.upload_s(device[g], j, np.asarray(g), np.asarray(upload_from_s)))
                end = upload_from_s + up_s
                begin += max(0.0, tau[g] - end)
            end = begin + down_s + compute_s[g] + up_s
            still_current = v == g or begin <= tau[v + 1]
            if still_current and tau[g] <= end < best:
                best, version[g], start_s[g] = end, v, begin
        tau[g + 1] = free_s[i] = best
        last_slot[i] = g
    return Schedule.from_columns(
        {
            "task": np.full(n, task),
            "device": device,
            "version": version,
            "slot": np.arange(n),
            "steps": steps,
            "batch": batch,
            "frequency_Hz": frequency_Hz,
            "start_s": start_s,
        }
    )


def concatenate(parts: list[Schedule]) -> Schedule:
    """The jobs of several schedules in one."""
    return Schedule.from_columns(
        {name: np.concatenate([part.columns()[name] for part in parts]) for name in parts[0].columns()}
    )
