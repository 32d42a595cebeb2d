"""Where devices are: the distance to the base station as a function of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.randomness import generator
from dmafl.scenario.model import Scenario
from dmafl.world.devices import Devices, limits_of_column
from dmafl.world.tables import check_columns, check_numbers, read_table

MOST_LEGS = 10_000
"""Most walks of a device from one point to the next; after them it does not move."""
MOST_POINTS = 20_000_000
"""Points of all paths together, which take 24 bytes each."""


class Mobility(Protocol):
    """Gives the distance of a device at a time."""

    def distance_m(self, device: IntArray, time_s: FloatArray) -> FloatArray:
        """Distance of each `device` to the base station at each `time_s` [m]; arrays of one shape."""
        ...


@dataclass(frozen=True, eq=False)
class Static:
    """Devices that do not move."""

    distances_m: FloatArray

    def distance_m(self, device: IntArray, time_s: FloatArray) -> FloatArray:
        """The device's distance, whatever the time."""
        return np.asarray(self.distances_m[device])


@dataclass(frozen=True, eq=False)
class Paths:
    """Devices that move in straight lines between points; before the first and after the last point they do not move.

    Points of device i are rows `offsets[i]` to `offsets[i+1]` of `time_s`, `x_m`, `y_m`.
    """

    offsets: IntArray
    time_s: FloatArray
    x_m: FloatArray
    y_m: FloatArray

    def distance_m(self, device: IntArray, time_s: FloatArray) -> FloatArray:
        """Distance on the straight line between the two points around each time."""
        device, time_s = np.broadcast_arrays(device, time_s)
        flat_device, flat_time = device.ravel(), time_s.ravel()
        out = np.empty(flat_device.size)
        order = np.argsort(flat_device, kind="stable")
        cuts = np.flatnonzero(np.diff(flat_device[order])) + 1
        for rows in np.split(order, cuts):
            if rows.size:
                i = int(flat_device[rows[0]])
                path = slice(int(self.offsets[i]), int(self.offsets[i + 1]))
                x = np.interp(flat_time[rows], self.time_s[path], self.x_m[path])
                y = np.interp(flat_time[rows], self.time_s[path], self.y_m[path])
                out[rows] = np.hypot(x, y)
        return out.reshape(device.shape)

    def plain(self) -> dict[str, Any]:
        """As lists, for a file."""
        return {name: getattr(self, name).tolist() for name in ("offsets", "time_s", "x_m", "y_m")}


def make_mobility(scenario: Scenario, devices: Devices) -> Static | Paths:
    """The mobility that `scenario` describes."""
    if scenario.mobility.kind == "waypoint":
        return _random_waypoints(scenario, devices)
    if scenario.mobility.kind == "trace":
        return _trace(scenario, devices)
    return Static(devices.distance_m)


def _random_waypoints(scenario: Scenario, devices: Devices) -> Paths:
    """Each device walks at constant speed to a point drawn uniformly in the disc, then to the next."""
    horizon_s = float(devices.window_s.max())
    radius, speed = scenario.fleet.radius_m, scenario.mobility.speed_m_s
    legs = int(min(np.ceil(horizon_s * speed / (0.9 * radius)) + 5, MOST_LEGS))
    if legs * len(devices) > MOST_POINTS:
        raise bad_input(
            "mobility.kind",
            f"must not need more than {MOST_POINTS:,} points of all paths",
            ShownAsIs(f"{len(devices):,} devices with {legs:,} points each"),
            "Have fewer devices, shorter windows, a lower speed or a larger radius.",
        )
    offsets, times, xs, ys = [0], [], [], []
    for i in range(len(devices)):
        rng = generator(scenario.seed, "mobility.waypoint", i)
        r, phi = radius * np.sqrt(rng.random(legs)), 2 * np.pi * rng.random(legs)
        r = np.concatenate([devices.distance_m[i : i + 1], r])
        phi = np.concatenate([devices.bearing_rad[i : i + 1], phi])
        x, y = r * np.cos(phi), r * np.sin(phi)
        times.append(np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(y))) / speed]))
        xs.append(x)
        ys.append(y)
        offsets.append(offsets[-1] + x.size)
    return Paths(np.asarray(offsets), *(np.concatenate(part) for part in (times, xs, ys)))


def _trace(scenario: Scenario, devices: Devices) -> Paths:
    """Distances from a table of device, time_s, distance_m; every device needs at least one row."""
    path = scenario.folder / str(scenario.mobility.file)
    columns = read_table(path, "mobility trace")
    check_columns(columns, ("device", "time_s", "distance_m"), (), path)
    for name in ("time_s", "distance_m"):
        limits = limits_of_column(name)
        check_numbers(columns[name], f"{path.name}:{name}", low=limits.low, high=limits.high)
    device = device_rows(columns["device"], devices, path.name)
    order = np.lexsort((columns["time_s"], device))
    counts = np.bincount(device, minlength=len(devices))
    if (counts == 0).any():
        missing = devices.id[int(np.argmin(counts))]
        raise bad_input(
            f"{path.name}:device",
            "must have a row for every device",
            ShownAsIs(f"none for {missing!r}"),
            "Add its distance.",
        )
    distance = columns["distance_m"][order]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return Paths(offsets, columns["time_s"][order], distance, np.zeros_like(distance))


def device_rows(names: NDArray[Any], devices: Devices, source: str) -> IntArray:
    """Index of each device named in a table's column."""
    index = {name: row for row, name in enumerate(devices.id)}
    out = np.empty(len(names), dtype=np.int64)
    for row, name in enumerate(names):
        text = str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)
        if text not in index:
            raise bad_input(
                f"{source}:device[{row}]",
                "must be the id of a device",
                text,
                "Use the ids of the device table (0 to I-1 where there is none).",
            )
        out[row] = index[text]
    return out
