"""When each job idles, downloads, computes and uploads, and how much energy that takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.schedule.jobs import Schedule
from dmafl.world.world import World

PHASES = ("idle", "download", "compute", "upload")


@dataclass(frozen=True, eq=False)
class Timeline:
    """Durations [s], times [s] and energies [J] of the jobs of a schedule, in its order.

    A local period consists of idle, download, compute and upload; it lasts from the end of one upload of a (device,
    task) to the end of the next one.
    """

    idle_s: FloatArray
    download_s: FloatArray
    compute_s: FloatArray
    upload_s: FloatArray
    compute_start_s: FloatArray
    upload_start_s: FloatArray
    end_s: FloatArray
    uplink_J: FloatArray
    compute_J: FloatArray
    downlink_J: FloatArray
    samples: IntArray
    """Samples D that the device has when its computation starts."""


def replay(world: World, schedule: Schedule) -> Timeline:
    """The timeline that follows from the jobs and the physics alone. Eq. (local_period_time)."""
    i, j = schedule.device, schedule.task
    work = (i, j, schedule.steps, schedule.batch, schedule.frequency_Hz)
    download_s = world.download_s(i, j, schedule.version, schedule.start_s)
    compute_s = world.compute_s(*work)
    compute_start_s = schedule.start_s + download_s
    upload_start_s = compute_start_s + compute_s
    upload_s = world.upload_s(i, j, schedule.slot, upload_start_s)
    end_s = upload_start_s + upload_s
    previous, computed_s = _before(schedule, world.task_count, compute_s)
    previous_end_s = np.where(previous >= 0, end_s[previous], 0.0)
    return Timeline(
        idle_s=schedule.start_s - previous_end_s,
        download_s=download_s,
        compute_s=compute_s,
        upload_s=upload_s,
        compute_start_s=compute_start_s,
        upload_start_s=upload_start_s,
        end_s=end_s,
        uplink_J=world.upload_J(i, upload_s),
        compute_J=world.compute_J(*work),
        downlink_J=world.download_J(i, download_s),
        samples=world.samples(j, world.stream_progress(i, j, schedule.version, compute_start_s, computed_s)),
    )


def stream_order(schedule: Schedule, tasks: int) -> tuple[IntArray, IntArray]:
    """Jobs sorted by (device, task, slot), and for each place in that order 1 if its stream continues, 0 if it begins.

    A stream is the sequence of jobs of one (device, task).
    """
    stream = schedule.device * tasks + schedule.task
    order = np.lexsort((schedule.version, schedule.slot, stream))
    continues = np.zeros(len(schedule), dtype=np.int64)
    continues[1:] = stream[order[1:]] == stream[order[:-1]]
    return order, continues


def completion_s(world: World, schedule: Schedule, end_s: FloatArray) -> tuple[FloatArray, IntArray]:
    """tau_{j,g}: when each slot completes, for all tasks one after another, and where each task begins.

    A slot that several jobs complete (S1 is broken) completes with the earliest; one without a job, at infinity.
    """
    offsets = np.concatenate([[0], np.cumsum(world.slots)])
    tau_s = np.full(int(offsets[-1]), np.inf)
    exists = (schedule.slot >= 0) & (schedule.slot < world.slots[schedule.task])
    np.minimum.at(tau_s, (offsets[schedule.task] + schedule.slot)[exists], end_s[exists])
    return tau_s, offsets


def final_idle_s(world: World, schedule: Schedule, timeline: Timeline) -> FloatArray:
    """T^{ID,F}: the rest of each window after the last upload of (device, task) [s], shape (I, J). Eq. (QoE)."""
    last_s = np.zeros((world.device_count, world.task_count))
    np.maximum.at(last_s, (schedule.device, schedule.task), timeline.end_s)
    return np.asarray(world.devices.window_s - last_s)


def energy_J(world: World, schedule: Schedule, timeline: Timeline) -> FloatArray:
    """Energy by device, task and phase [J], shape (I, J, 3): uplink, compute (devices), downlink (base station)."""
    out = np.zeros((world.device_count, world.task_count, 3))
    for phase, column in enumerate((timeline.uplink_J, timeline.compute_J, timeline.downlink_J)):
        np.add.at(out[:, :, phase], (schedule.device, schedule.task), column)
    return out


def _before(schedule: Schedule, tasks: int, compute_s: FloatArray) -> tuple[IntArray, FloatArray]:
    """For each job: the job before it in its stream (-1: none), and the stream's computing time up to it."""
    order, continues = stream_order(schedule, tasks)
    previous = np.full(len(schedule), -1, dtype=np.int64)
    computed_s = np.zeros(len(schedule))
    if len(schedule):
        previous[order[1:]] = np.where(continues[1:] == 1, order[:-1], -1)
        total = np.cumsum(compute_s[order]) - compute_s[order]
        first = np.maximum.accumulate(np.where(continues == 0, np.arange(len(schedule)), 0))
        computed_s[order] = np.maximum(total - total[first], 0.0)
    return previous, computed_s
