"""What a plan asks of every device: jobs, joules, share of the battery, megabytes and minutes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.schedule.plan import Plan
from dmafl.world.devices import draw_devices

BITS_OF_MB = 8e6
SECONDS_OF_MIN = 60.0


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


def devices_of(plan: Plan) -> tuple[DeviceUse, ...]:
    """One for every device, in the order of the world."""
    world, jobs, times = plan.world, plan.schedule, plan.timeline
    count = world.device_count

    def summed(values: FloatArray) -> FloatArray:
        return np.bincount(jobs.device, values, minlength=count).astype(np.float64)

    each_MB = summed(world.payload_bit[jobs.task] / BITS_OF_MB)
    columns = {
        "uplink_J": summed(times.uplink_J),
        "compute_J": summed(times.compute_J),
        "battery_J": true_battery_J(plan),
        "sent_MB": each_MB,
        "received_MB": each_MB,
        "busy_min": _busy_s(jobs.device, jobs.start_s, times.end_s, count) / SECONDS_OF_MIN,
    }
    number = np.bincount(jobs.device, minlength=count)
    return tuple(
        DeviceUse(name, int(number[i]), **{key: float(column[i]) for key, column in columns.items()})
        for i, name in enumerate(world.devices.id)
    )


def true_battery_J(plan: Plan) -> FloatArray:
    """The batteries of the devices, also where a goal lets a plan use less of them [J]."""
    scenario, devices = plan.world.scenario, plan.world.devices
    if scenario.goals.device_energy_J is None:
        return devices.battery_J
    goals = scenario.goals.model_copy(update={"device_energy_J": None})
    drawn = draw_devices(scenario.model_copy(update={"goals": goals}).in_folder(scenario.folder))
    return np.asarray(np.maximum(drawn.battery_J, devices.battery_J))


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
