"""What a plan asks of every device, and which of its limits bind."""

from __future__ import annotations

import numpy as np

from dmafl.experiments.sizing.device_use import devices_of
from dmafl.reports.numbers import number
from dmafl.reports.tables.table import Table, cell
from dmafl.schedule.plan import Plan

BINDS = 0.999
"""A limit binds where this share of it is used."""


def plan_devices_table(plan: Plan) -> Table:
    """One row per device: jobs, joules, the share of its battery, and what binds: battery, window or CPU."""
    columns = {
        "device": "device",
        "jobs": "jobs",
        "uplink_J": "radio [J]",
        "compute_J": "CPU [J]",
        "energy_J": "total [J]",
        "battery_J": "battery [J]",
        "battery_share": "share",
        "busy_min": "busy [min]",
        "binds": "binds",
    }
    rows = [
        (
            use.device,
            int(use.jobs),
            float(use.uplink_J),
            float(use.compute_J),
            float(use.energy_J),
            float(use.battery_J),
            cell(float(use.battery_share), share_text(use.battery_share)),
            cell(float(use.busy_min), number(use.busy_min)),
            ", ".join(bind),
        )
        for use, bind in zip(devices_of(plan), binding_limits(plan), strict=True)
    ]
    return Table.made("devices", "What the plan asks of each device", columns, rows, left=["binds"])


def binding_limits(plan: Plan) -> list[list[str]]:
    """By device: `battery` that is used up, `window` that its jobs fill, `CPU` where a job computes at full speed."""
    jobs, times, devices = plan.schedule, plan.timeline, plan.world.devices
    spent_J = np.bincount(jobs.device, times.uplink_J + times.compute_J, minlength=len(devices))
    binding = []
    for i in range(len(devices)):
        own = jobs.device == i
        window_s = devices.window_s[i, jobs.task[own]]
        limits = {
            "battery": spent_J[i] >= BINDS * devices.battery_J[i],
            "window": bool((times.end_s[own] >= BINDS * window_s).any()),
            "CPU": bool((jobs.frequency_Hz[own] >= BINDS * devices.frequency_max_Hz[i]).any()),
        }
        binding.append([name for name, binds in limits.items() if binds])
    return binding


def share_text(share: float) -> str:
    """A share of a battery as a percentage of three digits."""
    return f"{100 * share:.3g}%"
