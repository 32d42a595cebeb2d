"""Energy of a schedule by device, task and phase."""

from __future__ import annotations

from rich.table import Table

from dmafl.reports.numbers import number
from dmafl.reports.terminal.console import table
from dmafl.schedule.jobs import Schedule, realised_staleness
from dmafl.schedule.timeline import Timeline, energy_J
from dmafl.world.world import World


def task_energy_table(world: World, schedule: Schedule, timeline: Timeline) -> Table:
    """One row a task: jobs, devices used, steps, staleness, idle and busy time, energy by phase."""
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
        own = schedule.task == j
        phases = energy[:, j].sum(axis=0)
        rows.add_row(
            name,
            f"{own.sum():,}",
            str(len(set(schedule.device[own].tolist()))),
            f"{schedule.steps[own].sum():,.0f}",
            str(stale[j]),
            number(timeline.end_s[own].max(initial=0.0)),
            number(timeline.idle_s[own].sum()),
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
    """One row a device: energy of each task, and the share of the battery it takes."""
    energy = energy_J(world, schedule, timeline)
    own_J = energy[:, :, :2].sum(axis=2)
    rows = table(
        "Energy of devices (uplink + computation) [J]", "device", *world.task_names, "total", "of battery"
    )
    for i, name in enumerate(world.devices.id):
        total = own_J[i].sum()
        rows.add_row(name, *map(number, own_J[i]), number(total), f"{total / world.devices.battery_J[i]:.3%}")
    return rows
