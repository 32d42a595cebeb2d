"""The small-scale channel: the power gain of each transfer, addressed by what it is for.

A gain has the key (direction, device, task, index); the index is the version received for a downlink and the
slot completed for an uplink. So all schemes of a seed see the same gain, whenever they ask for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.randomness import uniform
from dmafl.scenario.model import Scenario
from dmafl.world.devices import Devices, limits_of_column
from dmafl.world.mobility import device_rows
from dmafl.world.physics.path_loss import linear, path_loss_dB
from dmafl.world.physics.transmission import mean_rayleigh_rate_bit_s, rate_bit_s
from dmafl.world.tables import Columns, check_columns, check_numbers, read_table

Direction = Literal["uplink", "downlink"]
DIRECTIONS: tuple[Direction, Direction] = ("uplink", "downlink")


@dataclass(frozen=True, eq=False)
class Link:
    """What a rate needs besides the gain, for each of n transfers."""

    power_W: FloatArray
    bandwidth_Hz: FloatArray
    noise_W_Hz: FloatArray


class Channel(Protocol):
    """A channel model. A user's channel needs only `gain`; `MeanRateChannel` adds what `mean_rate` planning needs."""

    def gain(
        self, direction: Direction, device: IntArray, task: IntArray, index: IntArray, distance_m: FloatArray
    ) -> FloatArray:
        """Power gain |h|² of each transfer (ratio); arrays of one shape."""
        ...


@runtime_checkable
class MeanRateChannel(Protocol):
    """A channel that also knows its mean rate."""

    def mean_rate_bit_s(
        self, direction: Direction, device: IntArray, task: IntArray, distance_m: FloatArray, link: Link
    ) -> FloatArray:
        """Mean rate of each transfer over the fading [bit/s]."""
        ...


@dataclass(frozen=True)
class Rayleigh:
    """Rayleigh block fading: path gain times |u|², u ~ CN(0, 1), so |u|² ~ Exp(1). Paper Sec. VI-A."""

    seed: int
    path_loss_at_1m_dB: float
    path_loss_exponent: float

    def gain(
        self, direction: Direction, device: IntArray, task: IntArray, index: IntArray, distance_m: FloatArray
    ) -> FloatArray:
        """Power gain |h|² of each transfer."""
        u2 = -np.log(uniform(self.seed, f"channel.{direction}", index, device, task))
        return np.asarray(self.path_gain(distance_m) * u2)

    def mean_rate_bit_s(
        self, direction: Direction, device: IntArray, task: IntArray, distance_m: FloatArray, link: Link
    ) -> FloatArray:
        """Mean rate over the fading, in closed form."""
        path_gain = self.path_gain(distance_m)
        return np.asarray(
            mean_rayleigh_rate_bit_s(path_gain, link.power_W, link.bandwidth_Hz, link.noise_W_Hz)
        )

    def path_gain(self, distance_m: FloatArray) -> FloatArray:
        """Gain without fading at each distance."""
        return linear(path_loss_dB(distance_m, self.path_loss_at_1m_dB, self.path_loss_exponent))


@dataclass(frozen=True, eq=False)
class FixedGains:
    """One gain for each device and direction, which never changes."""

    uplink: FloatArray
    downlink: FloatArray

    def gain(
        self, direction: Direction, device: IntArray, task: IntArray, index: IntArray, distance_m: FloatArray
    ) -> FloatArray:
        """Power gain |h|² of each transfer."""
        return np.asarray((self.uplink if direction == "uplink" else self.downlink)[device])

    def mean_rate_bit_s(
        self, direction: Direction, device: IntArray, task: IntArray, distance_m: FloatArray, link: Link
    ) -> FloatArray:
        """The rate itself."""
        gain = self.gain(direction, device, task, device, distance_m)
        return np.asarray(rate_bit_s(gain, link.power_W, link.bandwidth_Hz, link.noise_W_Hz))


@dataclass(frozen=True, eq=False)
class GainTrace:
    """Recorded gains. An index between two recorded ones has the earlier one's gain.

    Rows are sorted by (direction, device, task, index); `first` is where each (direction, device, task) begins.
    """

    first: IntArray
    index: IntArray
    gains: FloatArray
    shape: tuple[int, int]

    def gain(
        self, direction: Direction, device: IntArray, task: IntArray, index: IntArray, distance_m: FloatArray
    ) -> FloatArray:
        """Power gain |h|² of each transfer."""
        device, task, index = np.broadcast_arrays(device, task, index)
        group = self._group(direction, device, task)
        low, high = self.first[group], self.first[group + 1]
        # Bisection in all groups at once: the last row of the group whose index is not above the wanted one.
        while (high - low > 1).any():
            middle = (low + high) // 2
            below = self.index[np.minimum(middle, len(self.index) - 1)] <= index
            wide = high - low > 1
            low, high = np.where(wide & below, middle, low), np.where(wide & ~below, middle, high)
        return np.asarray(self.gains[low])

    def mean_rate_bit_s(
        self, direction: Direction, device: IntArray, task: IntArray, distance_m: FloatArray, link: Link
    ) -> FloatArray:
        """Mean of the rates at the recorded gains."""
        device, task = np.broadcast_arrays(device, task)
        group = self._group(direction, device, task).ravel()
        columns = [
            np.broadcast_to(part, device.shape).ravel()
            for part in (link.power_W, link.bandwidth_Hz, link.noise_W_Hz)
        ]
        out = np.empty(group.size)
        for k in range(group.size):
            recorded = slice(int(self.first[group[k]]), int(self.first[group[k] + 1]))
            out[k] = rate_bit_s(self.gains[recorded], *(column[k] for column in columns)).mean()
        return out.reshape(device.shape)

    def plain(self) -> dict[str, Any]:
        """As lists, for a file."""
        return {"first": self.first.tolist(), "index": self.index.tolist(), "gain": self.gains.tolist()}

    @classmethod
    def from_rows(
        cls,
        uplink: IntArray,
        device: IntArray,
        task: IntArray,
        index: IntArray,
        gain: FloatArray,
        shape: tuple[int, int],
        source: str,
    ) -> GainTrace:
        """From rows in any order, where `uplink` is 1 for an uplink; each device and task needs one per direction."""
        devices, tasks = shape
        group = ((1 - uplink) * devices + device) * tasks + task
        order = np.lexsort((index, group))
        counts = np.bincount(group, minlength=2 * devices * tasks)
        if (counts == 0).any():
            where = int(np.argmin(counts))
            direction = DIRECTIONS[where // (devices * tasks)]
            raise bad_input(
                source,
                "must have a row for every direction, device and task",
                ShownAsIs(
                    f"none for {direction} of device row {where // tasks % devices}, task {where % tasks}"
                ),
                "Add its gain.",
            )
        return cls(np.concatenate([[0], np.cumsum(counts)]), index[order], gain[order], shape)

    def _group(self, direction: Direction, device: IntArray, task: IntArray) -> IntArray:
        devices, tasks = self.shape
        return np.asarray((DIRECTIONS.index(direction) * devices + device) * tasks + task)


def make_channel(scenario: Scenario, devices: Devices) -> Rayleigh | FixedGains | GainTrace:
    """The channel that `scenario` describes."""
    section = scenario.channel
    if section.kind == "fixed":
        return FixedGains(devices.uplink_gain, devices.downlink_gain)
    if section.kind == "trace":
        return _read_trace(scenario, devices)
    return Rayleigh(scenario.seed, section.path_loss_at_1m_dB, section.path_loss_exponent)


def _read_trace(scenario: Scenario, devices: Devices) -> GainTrace:
    path = scenario.folder / str(scenario.channel.file)
    columns = read_table(path, "channel trace")
    check_columns(columns, ("direction", "device", "index", "gain"), ("task",), path)
    for name, as_column in (("index", "index"), ("gain", "uplink_gain")):
        limits = limits_of_column(as_column)
        check_numbers(columns[name], f"{path.name}:{name}", low=limits.low, high=limits.high)
    device = device_rows(columns["device"], devices, path.name)
    uplink = _directions(columns, path.name)
    task = _tasks(columns, scenario, path.name)
    index, gain = columns["index"].astype(np.int64), columns["gain"]
    if task is None:  # no task column: a row holds for every task
        n = len(scenario.tasks)
        uplink, device, index, gain = (np.repeat(part, n) for part in (uplink, device, index, gain))
        task = np.tile(np.arange(n), len(columns["index"]))
    shape = (len(devices), len(scenario.tasks))
    return GainTrace.from_rows(uplink, device, task, index, gain, shape, path.name)


def _directions(columns: Columns, source: str) -> IntArray:
    names = columns["direction"]
    for row, name in enumerate(names):
        if name not in DIRECTIONS:
            raise bad_input(
                f"{source}:direction[{row}]", "must be uplink or downlink", name, "Mend that row."
            )
    return np.asarray([name == "uplink" for name in names], dtype=np.int64)


def _tasks(columns: Columns, scenario: Scenario, source: str) -> IntArray | None:
    if "task" not in columns:
        return None
    order = {name: j for j, name in enumerate(scenario.tasks)}
    for row, name in enumerate(columns["task"]):
        if name not in order:
            raise bad_input(
                f"{source}:task[{row}]", "must be one of " + ", ".join(order), name, "Mend that row."
            )
    return np.asarray([order[name] for name in columns["task"]], dtype=np.int64)
