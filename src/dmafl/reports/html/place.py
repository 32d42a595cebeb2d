"""Where devices are, and how well they are heard: the map around the base station."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.reports.html.curves import thin
from dmafl.reports.html.rounding import short, shorts
from dmafl.reports.html.run_set import RunSet
from dmafl.world.channel import DIRECTIONS, Direction, MeanRateChannel
from dmafl.world.mobility import Paths
from dmafl.world.world import World


def places(run_set: RunSet) -> list[dict[str, Any]]:
    """One entry per run and seed: position, distance and mean rates of every device, and paths of those that move."""
    entries = []
    for (run, seed), world in run_set.worlds.items():
        x_m, y_m = _start_m(world)
        entries.append(
            {
                "run": run,
                "seed": seed,
                "radius_m": short(max(float(world.scenario.fleet.radius_m), float(np.hypot(x_m, y_m).max()))),
                "id": list(world.devices.id),
                "x_m": shorts(x_m, 4),
                "y_m": shorts(y_m, 4),
                "distance_m": shorts(np.hypot(x_m, y_m), 4),
                "battery_J": shorts(world.devices.battery_J, 4),
                "frequency_max_MHz": shorts(world.devices.frequency_max_Hz / 1e6, 4),
                "paths": _paths(world),
            }
            | {f"{way}_Mbit_s": shorts(mean_rate_bit_s(world, way) / 1e6, 4) for way in DIRECTIONS}
        )
    return entries


def mean_rate_bit_s(world: World, direction: Direction) -> FloatArray:
    """Rate of each device at time 0 [bit/s]: mean over the fading where the channel knows it, and over tasks."""
    device, task = (
        grid.ravel() for grid in np.indices((world.device_count, world.task_count), dtype=np.int64)
    )
    known = replace(world, csi="mean_rate") if isinstance(world.channel, MeanRateChannel) else world
    rate = known.rate_bit_s(direction, device, task, np.zeros_like(device), np.zeros(len(device)))
    return np.asarray(rate.reshape(world.device_count, world.task_count).mean(axis=1))


def _start_m(world: World) -> tuple[FloatArray, FloatArray]:
    if isinstance(world.mobility, Paths):
        first = world.mobility.offsets[:-1]
        return world.mobility.x_m[first], world.mobility.y_m[first]
    distance_m, bearing = world.devices.distance_m, world.devices.bearing_rad
    return distance_m * np.cos(bearing), distance_m * np.sin(bearing)


def _paths(world: World) -> list[list[list[float | int | None]]] | None:
    if not isinstance(world.mobility, Paths):
        return None
    paths = world.mobility
    spans = [slice(int(a), int(b)) for a, b in zip(paths.offsets[:-1], paths.offsets[1:], strict=True)]
    return [[shorts(thin(column[span]), 4) for column in (paths.x_m, paths.y_m)] for span in spans]
