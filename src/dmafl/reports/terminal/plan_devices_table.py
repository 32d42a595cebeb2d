"""What a plan asks of every device, and which of its limits bind."""

from __future__ import annotations

from dmafl.reports.numbers import number
from dmafl.reports.tables.table import Table, cell
from dmafl.schedule.plan import Plan


def plan_devices_table(plan: Plan) -> Table:
    """One row per device: jobs, joules, the share of its battery, and what binds: battery, goal, cpu or window."""
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
            use.binds,
        )
        for use in plan.devices
    ]
    return Table.made("devices", "What the plan asks of each device", columns, rows, left=["binds"])


def share_text(share: float) -> str:
    """A share of a battery as a percentage of three digits."""
    return f"{100 * share:.3g}%"
