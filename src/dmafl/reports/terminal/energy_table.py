"""Energy of a schedule by device, task and phase."""

from __future__ import annotations

from rich.table import Table

from dmafl.reports.numbers import number
from dmafl.reports.terminal.console import table
from dmafl.schedule.jobs import Schedule, realised_staleness
from dmafl.schedule.timeline import Timeline, energy_J
from dmafl.world.world import World


def task_energy_table(world: World, schedule: Schedule, timeline: Timeline) -> Table:
    """One row per task: jobs, devices used, steps, staleness, idle and busy time, energy by phase."""
    rows = table(
        "Schedule",
        "task",
        "jobs",
        "devices",
        "SGD steps",
        "staleness",
        "ends [s]",
        "idle [s]",
        "uplink [J]",
        "compute [J]",
        "downlink [J]",
        "total [J]",
    )
    energy = energy_J(world, schedule, timeline)
    stale = realised_staleness(schedule, world.task_count)
    for j, name in enumerate(world.task_names):
        of_task = schedule.task == j
        phases = energy[:, j].sum(axis=0)
        rows.add_row(
            name,
            f"{of_task.sum():,}",
            str(len(set(schedule.device[of_task].tolist()))),
            f"{schedule.steps[of_task].sum():,.0f}",
            str(stale[j]),
            number(timeline.end_s[of_task].max(initial=0.0)),
            number(timeline.idle_s[of_task].sum()),
            *map(number, phases),
            number(phases.sum()),
        )
    phases = energy.sum(axis=(0, 1))
    rows.add_section()
    rows.add_row(
        "all",
        f"{len(schedule):,}",
        str(len(set(schedule.device.tolist()))),
        f"{schedule.steps.sum():,.0f}",
        str(stale.max()),
        number(timeline.end_s.max(initial=0.0)),
        number(timeline.idle_s.sum()),
        *map(number, phases),
        number(phases.sum()),
    )
    return rows


def device_energy_table(world: World, schedule: Schedule, timeline: Timeline) -> Table:
    """One row per device: energy of each task, and the share of the battery it takes."""
    energy = energy_J(world, schedule, timeline)
    spent_J = energy[:, :, :2].sum(axis=2)
    rows = table(
        "Energy of devices (uplink + computation) [J]", "device", *world.task_names, "total", "of battery"
    )
    for i, name in enumerate(world.devices.id):
        total = spent_J[i].sum()
        rows.add_row(
            name, *map(number, spent_J[i]), number(total), f"{total / world.devices.battery_J[i]:.3%}"
        )
    return rows
