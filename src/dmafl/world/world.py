"""The world: a scenario with every device, gain, delay and energy made concrete."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.files import canonical_json, sha256_of
from dmafl.base.showing import line, names
from dmafl.scenario.model import Scenario
from dmafl.scenario.toml import from_plain
from dmafl.world.availability import Availability, OwnAvailability, always_there
from dmafl.world.channel import (
    Channel,
    Direction,
    FixedGains,
    GainTrace,
    Link,
    MeanRateChannel,
    Rayleigh,
    make_channel,
)
from dmafl.world.devices import Devices, draw_devices, parameters
from dmafl.world.make_availability import as_given, availability_of_file, make_availability
from dmafl.world.mobility import Mobility, Paths, Static, make_mobility
from dmafl.world.physics.computation import compute_J, compute_s
from dmafl.world.physics.path_loss import noise_W_per_Hz
from dmafl.world.physics.stream import progress_by_version, progress_in_time, sample_count
from dmafl.world.physics.transmission import rate_bit_s, transfer_J, transfer_s

WORLD_PARTS = {"settings", "devices", "gains", "paths"}
"""What a file always holds of a world; `availability` only where settings do not describe it."""


@dataclass(frozen=True, eq=False, repr=False)
class World:
    """Devices i = 0..I-1, tasks j = 0..J-1 and the physics between them. All methods take arrays of one shape."""

    scenario: Scenario
    devices: Devices
    channel: Channel
    mobility: Mobility
    availability: Availability
    csi: Literal["perfect", "mean_rate"] = "perfect"
    """Channel state information: what is known of gains before a transfer (`channel.knowledge`)."""

    @classmethod
    def resolve(
        cls,
        scenario: Scenario,
        *,
        channel: Channel | None = None,
        mobility: Mobility | None = None,
        availability: OwnAvailability | None = None,
    ) -> World:
        """Draw the devices of `scenario` and set up its channel, mobility and availability, unless they are given."""
        for name, task in scenario.tasks.items():
            parameters(task, name)  # a model of unknown size is refused before anything is shown
        devices = draw_devices(scenario)
        return cls(
            scenario,
            devices,
            channel if channel is not None else make_channel(scenario, devices),
            mobility if mobility is not None else make_mobility(scenario, devices),
            as_given(availability, devices)
            if availability is not None
            else make_availability(scenario, devices),
        )

    def __repr__(self) -> str:
        parts = (type(part).__name__ for part in (self.channel, self.mobility))
        return line("World", f"{self.device_count} devices", names(self.task_names), *parts)

    def as_planned(self) -> World:
        """The same world as the planner knows it (`channel.knowledge`)."""
        csi = self.scenario.channel.knowledge
        if csi == "mean_rate" and not isinstance(self.channel, MeanRateChannel):
            raise bad_input(
                "channel.knowledge",
                'must be "perfect" for a channel without mean_rate_bit_s',
                csi,
                "Give your channel class a method mean_rate_bit_s.",
            )
        return replace(self, csi=csi)

    def with_all_there(self) -> World:
        """The same world, in which no device ever leaves: plans do not know when devices are there."""
        return replace(self, availability=always_there(self.devices))

    # -- sizes and per-task settings ------------------------------------------------------------------

    @property
    def device_count(self) -> int:
        """Number of devices I."""
        return len(self.devices)

    @property
    def task_count(self) -> int:
        """Number of tasks J."""
        return len(self.scenario.tasks)

    @cached_property
    def task_names(self) -> tuple[str, ...]:
        """Names of the tasks in the order of the scenario."""
        return tuple(self.scenario.tasks)

    @cached_property
    def slots(self) -> IntArray:
        """Aggregations G_j of each task."""
        return self._of_tasks("slots")

    @cached_property
    def max_staleness(self) -> IntArray:
        """Largest staleness K_j of each task."""
        return self._of_tasks("max_staleness")

    @cached_property
    def payload_bit(self) -> FloatArray:
        """Size of each task's model on the air, σ_j M_j [bit]."""
        return np.asarray(
            [task.bits_per_parameter * parameters(task, name) for name, task in self.scenario.tasks.items()]
        )

    # -- radio ----------------------------------------------------------------------------------------

    def rate_bit_s(
        self, direction: Direction, device: IntArray, task: IntArray, index: IntArray, time_s: FloatArray
    ) -> FloatArray:
        """Rate of transfers that start at `time_s` [bit/s]; index: version received or slot completed."""
        distance_m = self.mobility.distance_m(device, time_s)
        d = self.devices
        link = Link(
            power_W=(d.uplink_power_W if direction == "uplink" else d.downlink_power_W)[device],
            bandwidth_Hz=(d.uplink_bandwidth_Hz if direction == "uplink" else d.downlink_bandwidth_Hz)[
                device
            ],
            noise_W_Hz=noise_W_per_Hz(self.scenario.channel.noise_dBm_Hz),
        )
        if self.csi == "mean_rate" and isinstance(self.channel, MeanRateChannel):
            return self.channel.mean_rate_bit_s(direction, device, task, distance_m, link)
        gain = self.channel.gain(direction, device, task, index, distance_m)
        return np.asarray(rate_bit_s(gain, link.power_W, link.bandwidth_Hz, link.noise_W_Hz))

    def upload_s(self, device: IntArray, task: IntArray, slot: IntArray, time_s: FloatArray) -> FloatArray:
        """Uplink time T^U of a local model that completes `slot` and is sent from `time_s` on [s]."""
        rate = self.rate_bit_s("uplink", device, task, slot, time_s)
        return np.asarray(transfer_s(self.payload_bit[task], rate))

    def download_s(
        self, device: IntArray, task: IntArray, version: IntArray, time_s: FloatArray
    ) -> FloatArray:
        """Downlink time T^D of global model `version` sent from `time_s` on [s]."""
        rate = self.rate_bit_s("downlink", device, task, version, time_s)
        return np.asarray(transfer_s(self.payload_bit[task], rate))

    def upload_J(self, device: IntArray, upload_s: FloatArray) -> FloatArray:
        """Uplink energy E^U of a device [J]."""
        return np.asarray(transfer_J(self.devices.uplink_power_W[device], upload_s))

    def download_J(self, device: IntArray, download_s: FloatArray) -> FloatArray:
        """Downlink energy E^D of the base station [J]."""
        return np.asarray(transfer_J(self.devices.downlink_power_W[device], download_s))

    # -- computation and data -------------------------------------------------------------------------

    def compute_s(
        self, device: IntArray, task: IntArray, steps: ArrayLike, batch: ArrayLike, frequency_Hz: ArrayLike
    ) -> FloatArray:
        """Computation time T^C [s]."""
        c = self.devices.cycles_per_sample[device, task]
        return np.asarray(compute_s(c, np.asarray(steps), np.asarray(batch), np.asarray(frequency_Hz)))

    def compute_J(
        self, device: IntArray, task: IntArray, steps: ArrayLike, batch: ArrayLike, frequency_Hz: ArrayLike
    ) -> FloatArray:
        """Computation energy E^C [J]."""
        c, xi = self.devices.cycles_per_sample[device, task], self.devices.capacitance_Js2[device]
        return np.asarray(compute_J(c, np.asarray(steps), np.asarray(batch), np.asarray(frequency_Hz), xi))

    def stream_progress(
        self, device: IntArray, task: IntArray, version: IntArray, time_s: FloatArray, computed_s: FloatArray
    ) -> FloatArray:
        """Progress of a device's data stream of a task: 0 at time 0, 1 at the end of the window.

        Time spent computing the task, `computed_s` so far, counts with active_rate, other time with idle_rate. With
        drift.per_aggregation, the version received takes the place of time.
        """
        drifts = [t.drift for t in self.scenario.tasks.values()]
        idle_rate = np.asarray([drift.idle_rate for drift in drifts])[task]
        active_rate = np.asarray([drift.active_rate for drift in drifts])[task]
        by_slot = np.asarray([drift.per_aggregation for drift in drifts])[task]
        in_time = progress_in_time(
            time_s, computed_s, self.devices.window_s[device, task], idle_rate, active_rate
        )
        in_slots = progress_by_version(version, self.slots[task])
        return np.asarray(np.clip(np.where(by_slot, in_slots, in_time), 0.0, 1.0))

    def progress_of_test(self, task: int, version: int, time_s: float) -> float:
        """How far the stream of a device that never computes has come: what the test data of a task follow."""
        drift = self.scenario.tasks[self.task_names[task]].drift
        if drift.per_aggregation:
            return float(min(progress_by_version(version, int(self.slots[task])), 1.0))
        window_s = float(self.devices.window_s[:, task].max())
        return float(min(progress_in_time(time_s, 0.0, window_s, drift.idle_rate, drift.active_rate), 1.0))

    def samples(self, task: IntArray, progress: FloatArray) -> IntArray:
        """Samples D that a device has of a task at its stream's `progress`: linear growth, or constant."""
        tasks = list(self.scenario.tasks.values())
        start = np.asarray([t.samples_at_start for t in tasks])[task]
        end = np.asarray([t.samples if t.drift.kind == "growth" else t.samples_at_start for t in tasks])[task]
        return np.asarray(sample_count(start, end, progress), dtype=np.int64)

    # -- as a file ------------------------------------------------------------------------------------

    def plain(self) -> dict[str, Any]:
        """As plain values from which `from_plain` makes the same world: settings, devices, gains, paths, and stretches
        in which devices are there where settings do not say them."""
        trace = self.channel.plain() if isinstance(self.channel, GainTrace) else None
        paths = self.mobility.plain() if isinstance(self.mobility, Paths) else None
        return {
            "settings": self.scenario.recorded(),
            "devices": self.devices.plain(),
            "gains": trace,
            "paths": paths,
        } | ({"availability": self.availability.plain()} if self.availability.given else {})

    @cached_property
    def sha256(self) -> str:
        """Checksum of `plain()`."""
        return sha256_of(canonical_json(self.plain()))

    @classmethod
    def from_plain(cls, given: Mapping[str, Any], source: str = "plan.json") -> World:
        """The world that a file describes; nothing is drawn again and no other file is read."""
        whole = isinstance(given, Mapping) and set(given) - {"availability"} == WORLD_PARTS
        if not whole or not isinstance(given["settings"], Mapping):
            raise bad_input(
                "scenario",
                "must hold settings, devices, gains and paths",
                ShownAsIs(", ".join(given) if isinstance(given, Mapping) else repr(given)),
                f"Write {source} with dmafl.",
            )
        scenario = from_plain(given["settings"], source=source)
        devices = Devices.from_plain(given["devices"], len(scenario.tasks))
        shape = (len(devices), len(scenario.tasks))
        section = scenario.channel
        channel: Channel
        if given["gains"] is not None:
            channel = _gains_from_plain(given["gains"], shape, source)
        elif section.kind == "rayleigh":
            channel = Rayleigh(scenario.seed, section.path_loss_at_1m_dB, section.path_loss_exponent)
        else:
            channel = FixedGains(devices.uplink_gain, devices.downlink_gain)
        mobility: Mobility = Static(devices.distance_m)
        if given["paths"] is not None:
            mobility = _paths_from_plain(given["paths"], len(devices), source)
        availability = availability_of_file(given, scenario, devices, source)
        return cls(scenario, devices, channel, mobility, availability)

    def _of_tasks(self, name: str) -> IntArray:
        return np.asarray([getattr(task, name) for task in self.scenario.tasks.values()], dtype=np.int64)


def _gains_from_plain(given: Any, shape: tuple[int, int], source: str) -> GainTrace:
    try:
        first, index = (np.asarray(given[key], dtype=np.int64) for key in ("first", "index"))
        gains = np.asarray(given["gain"], dtype=np.float64)
    except (TypeError, KeyError, ValueError, OverflowError):
        first = index = np.empty(0, dtype=np.int64)
        gains = np.empty(0)
    whole = first.shape == (2 * shape[0] * shape[1] + 1,) and index.shape == gains.shape == (first[-1],)
    if not whole or (np.diff(first) < 1).any() or not ((gains > 0) & np.isfinite(gains)).all():
        raise bad_input(
            "scenario.gains",
            "must hold first, index and gain for every direction, device and task",
            ShownAsIs("an incomplete table"),
            f"Write {source} with dmafl.",
        )
    return GainTrace(first, index, gains, shape)


def _paths_from_plain(given: Any, devices: int, source: str) -> Paths:
    try:
        offsets = np.asarray(given["offsets"], dtype=np.int64)
        columns = [np.asarray(given[key], dtype=np.float64) for key in ("time_s", "x_m", "y_m")]
    except (TypeError, KeyError, ValueError, OverflowError):
        offsets, columns = np.empty(0, dtype=np.int64), []
    whole = offsets.shape == (devices + 1,) and all(part.shape == (offsets[-1],) for part in columns)
    if not whole or (np.diff(offsets) < 1).any() or not all(np.isfinite(part).all() for part in columns):
        raise bad_input(
            "scenario.paths",
            "must hold offsets, time_s, x_m and y_m for every device",
            ShownAsIs("an incomplete table"),
            f"Write {source} with dmafl.",
        )
    return Paths(offsets, *columns)
