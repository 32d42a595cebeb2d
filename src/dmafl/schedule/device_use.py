"""What a plan asks of every device: jobs, joules, share of the battery, megabytes and minutes, and what binds."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from dmafl.base.arrays import BoolArray, FloatArray, IntArray
from dmafl.schedule.intervals import load_at_start
from dmafl.schedule.jobs import Schedule
from dmafl.schedule.timeline import Timeline
from dmafl.world.devices import draw_devices
from dmafl.world.world import World

BITS_OF_MB = 8e6
SECONDS_OF_MIN = 60.0
NEAR = 0.01
"""A limit binds where less than this share of it is left."""


@dataclass(frozen=True)
class DeviceUse:
    """What a plan asks of one device."""

    device: str
    jobs: float
    uplink_J: float
    compute_J: float
    battery_J: float
    sent_MB: float
    received_MB: float
    busy_min: float
    """Time in which it receives, computes or sends for at least one task."""
    binds: str = ""
    """Limits of which less than 1% is left: battery, goal (its joules by a goal), cpu, window."""

    @property
    def energy_J(self) -> float:
        """What the device spends: uplink and computing."""
        return self.uplink_J + self.compute_J

    @property
    def battery_share(self) -> float:
        """Part of its battery that this is."""
        return self.energy_J / self.battery_J

    def times(self, count: float) -> DeviceUse:
        """The same, `count` times."""
        more = {name: getattr(self, name) * count for name in COUNTED}
        return replace(self, **more)

    def plain(self) -> dict[str, Any]:
        """As plain values, for a file."""
        return asdict(self) | {"energy_J": self.energy_J, "battery_share": self.battery_share}


COUNTED = ("jobs", "uplink_J", "compute_J", "sent_MB", "received_MB", "busy_min")
"""What adds up from one training to the next."""


def devices_of(world: World, jobs: Schedule, times: Timeline) -> tuple[DeviceUse, ...]:
    """One for every device, in the order of the world."""
    count = world.device_count

    def summed(values: FloatArray) -> FloatArray:
        return np.bincount(jobs.device, values, minlength=count).astype(np.float64)

    each_MB = summed(world.payload_bit[jobs.task] / BITS_OF_MB)
    columns = {
        "uplink_J": summed(times.uplink_J),
        "compute_J": summed(times.compute_J),
        "battery_J": true_battery_J(world),
        "sent_MB": each_MB,
        "received_MB": each_MB,
        "busy_min": _busy_s(jobs.device, jobs.start_s, times.end_s, count) / SECONDS_OF_MIN,
    }
    number = np.bincount(jobs.device, minlength=count)
    binds = _binds(world, jobs, times, columns["uplink_J"] + columns["compute_J"], columns["battery_J"])
    return tuple(
        DeviceUse(
            name,
            int(number[i]),
            **{key: float(column[i]) for key, column in columns.items()},
            binds=", ".join(limit for limit, bound in binds.items() if bound[i]),
        )
        for i, name in enumerate(world.devices.id)
    )


def true_battery_J(world: World) -> FloatArray:
    """The batteries of the devices, also where a goal lets a plan use less of them [J]."""
    scenario, devices = world.scenario, world.devices
    if scenario.goals.device_energy_J is None:
        return devices.battery_J
    goals = scenario.goals.model_copy(update={"device_energy_J": None})
    drawn = draw_devices(scenario.model_copy(update={"goals": goals}).in_folder(scenario.folder))
    return np.asarray(np.maximum(drawn.battery_J, devices.battery_J))


def _binds(
    world: World, jobs: Schedule, times: Timeline, energy_J: FloatArray, battery_J: FloatArray
) -> dict[str, BoolArray]:
    """By limit: whether a device is at it, (I,)."""
    devices, count = world.devices, world.device_count
    at_limit = energy_J >= (1.0 - NEAR) * devices.battery_J
    true = devices.battery_J >= battery_J
    clock_Hz = load_at_start(jobs.device, times.compute_start_s, times.upload_start_s, jobs.frequency_Hz)
    highest_Hz = np.zeros(count)
    np.maximum.at(highest_Hz, jobs.device, np.maximum(clock_Hz, jobs.frequency_Hz))
    late = times.end_s >= (1.0 - NEAR) * devices.window_s[jobs.device, jobs.task]
    return {
        "battery": at_limit & true,
        "goal": at_limit & ~true,
        "cpu": highest_Hz >= (1.0 - NEAR) * devices.frequency_max_Hz,
        "window": np.bincount(jobs.device, late, minlength=count) > 0,
    }


def _busy_s(device: IntArray, begin_s: FloatArray, end_s: FloatArray, count: int) -> FloatArray:
    """Time that the jobs of each device cover; jobs of several tasks at once count once [s]."""
    busy_s = np.zeros(count)
    order = np.lexsort((begin_s, device))
    before, until_s = -1, 0.0
    for i, begin, end in zip(
        device[order].tolist(), begin_s[order].tolist(), end_s[order].tolist(), strict=True
    ):
        until_s = until_s if i == before else -np.inf
        busy_s[i] += max(0.0, end - max(begin, until_s))
        before, until_s = i, max(until_s, end)
    return busy_s
