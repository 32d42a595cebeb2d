"""Energy of a schedule by device, task and phase."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dmafl.reports.tables.table import Cell, Table, Value, cell, count
from dmafl.schedule.checks import TOLERANCE
from dmafl.schedule.jobs import Schedule, realised_staleness
from dmafl.schedule.timeline import Timeline, energy_J
from dmafl.world.world import World

JOULES = {"uplink_J": "uplink [J]", "compute_J": "compute [J]", "downlink_J": "downlink [J]"}


def task_energy_table(world: World, schedule: Schedule, timeline: Timeline) -> Table:
    """One row per task: jobs, devices used, steps, staleness, idle and busy time, energy by phase."""
    columns = {
        "task": "task",
        "jobs": "jobs",
        "devices": "devices",
        "steps": "SGD steps",
        "staleness": "staleness",
        "end_s": "ends [s]",
        "idle_s": "idle [s]",
        **JOULES,
        "total_J": "total [J]",
    }
    energy = energy_J(world, schedule, timeline)
    stale = realised_staleness(schedule, world.task_count)

    def row(name: str, among: np.ndarray, staleness: int, phases: np.ndarray) -> Sequence[Cell | Value]:
        return (
            name,
            count(int(among.sum())),
            len(set(schedule.device[among].tolist())),
            cell(int(schedule.steps[among].sum()), f"{schedule.steps[among].sum():,.0f}"),
            staleness,
            (end_s := float(timeline.end_s[among].max(initial=0.0))),
            _whole(float(timeline.idle_s[among].sum()), end_s),
            *map(float, phases),
            float(phases.sum()),
        )

    rows = [
        row(name, schedule.task == j, int(stale[j]), energy[:, j].sum(axis=0))
        for j, name in enumerate(world.task_names)
    ]
    everything = np.ones(len(schedule), dtype=bool)
    rows.append(row("all", everything, int(stale.max()), energy.sum(axis=(0, 1))))
    return Table.made("schedule", "Schedule", columns, rows, sums=1)


def _whole(idle_s: float, end_s: float) -> Cell:
    """Idle time; what is no more than a rounding is shown as 0."""
    return cell(idle_s, "0" if abs(idle_s) <= TOLERANCE * end_s else None)


def device_energy_table(world: World, schedule: Schedule, timeline: Timeline) -> Table:
    """One row per device: energy of each task, and the share of the battery it takes."""
    energy = energy_J(world, schedule, timeline)
    spent_J = energy[:, :, :2].sum(axis=2)
    columns = {
        "device": "device",
        **{f"{name}_J": name for name in world.task_names},
        "total_J": "total",
        "battery_share": "of battery",
    }
    rows: list[Sequence[Cell | Value]] = []
    for i, name in enumerate(world.devices.id):
        total = float(spent_J[i].sum())
        share = total / float(world.devices.battery_J[i])
        rows.append((name, *map(float, spent_J[i]), total, cell(share, f"{share:.3%}")))
    title = "Energy of devices (uplink + computation) [J]"
    return Table.made("device_energy", title, columns, rows)
