"""A world that a file can hold: a user's channel or mobility becomes a table of the gains that the jobs use."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.schedule.jobs import Schedule
from dmafl.schedule.timeline import Timeline
from dmafl.world.channel import FixedGains, GainTrace, Rayleigh
from dmafl.world.mobility import Paths, Static
from dmafl.world.world import World


def recorded_world(world: World, schedule: Schedule, timeline: Timeline) -> World:
    """`world` itself if settings and tables describe it; otherwise with a table of the gains of all transfers."""
    known_channel = isinstance(world.channel, Rayleigh | FixedGains | GainTrace)
    if known_channel and isinstance(world.mobility, Static | Paths):
        return world
    if world.scenario.channel.knowledge == "mean_rate":
        raise bad_input(
            "channel.knowledge",
            'must be "perfect" to save a plan with a channel or mobility of your own',
            ShownAsIs("mean_rate"),
            "Save with perfect knowledge: gains can be written down, mean rates cannot.",
        )
    I, J = world.device_count, world.task_count  # noqa: E741
    # One row for every device and task, so that the table is complete; then one for every transfer of the schedule.
    every_device, every_task = (
        part.ravel() for part in np.meshgrid(np.arange(I), np.arange(J), indexing="ij")
    )
    none = np.zeros(I * J, dtype=np.int64)
    device = np.concatenate([every_device, schedule.device])
    task = np.concatenate([every_task, schedule.task])
    zero_s = np.zeros(I * J)
    up_index, down_index = np.concatenate([none, schedule.slot]), np.concatenate([none, schedule.version])
    up_from_s = np.concatenate([zero_s, timeline.upload_start_s])
    down_from_s = np.concatenate([zero_s, schedule.start_s])
    up_gain = world.channel.gain(
        "uplink", device, task, up_index, world.mobility.distance_m(device, up_from_s)
    )
    down_gain = world.channel.gain(
        "downlink", device, task, down_index, world.mobility.distance_m(device, down_from_s)
    )
    trace = GainTrace.from_rows(
        np.repeat([1, 0], len(device)),
        np.tile(device, 2),
        np.tile(task, 2),
        np.concatenate([up_index, down_index]),
        np.concatenate([up_gain, down_gain]),
        (I, J),
        "channel",
    )
    return replace(world, channel=trace, mobility=Static(world.devices.distance_m))
