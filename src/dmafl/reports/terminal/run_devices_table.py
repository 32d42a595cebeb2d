"""What a run took from every device, and what ended its work."""

from __future__ import annotations

import numpy as np

from dmafl.base.files import columns_of
from dmafl.experiments.run.run import Run
from dmafl.reports.tables.table import Cell, Table, Value, cell, measured
from dmafl.reports.terminal.plan_devices_table import share_text
from dmafl.simulation.run_name import RunName


def run_devices_table(run: Run) -> Table:
    """One row per scheme, seed and device: jobs, joules, the share of the battery, and what ended it early."""
    columns = {
        "scheme": "scheme",
        "seed": "seed",
        "device": "device",
        "jobs": "jobs",
        "uplink_J": "radio [J]",
        "compute_J": "CPU [J]",
        "energy_J": "total [J]",
        "battery_J": "battery [J]",
        "battery_share": "share",
        "ended_by": "ended by",
    }
    names = ("scheme", "seed", "device", "uplink_J", "compute_J")
    periods = columns_of(run.periods.select(list(names)))
    rows = [row for name in run.manifest.run_names for row in _rows(run, name, periods)]
    title = "Devices (radio and computation of each, without the station)"
    left = ["seed", "device", "ended_by"]
    return Table.made("devices", title, columns, rows, left=left, sections=["scheme", "seed"])


def _rows(run: Run, name: RunName, periods: dict[str, np.ndarray]) -> list[tuple[Cell | Value, ...]]:
    devices = run.world(name.seed).devices
    own = (periods["scheme"] == name.scheme) & (periods["seed"] == name.seed)
    device = periods["device"][own].astype(int)
    jobs = np.bincount(device, minlength=len(devices))
    uplink_J, compute_J = (
        np.bincount(device, periods[phase][own].astype(float), minlength=len(devices))
        for phase in ("uplink_J", "compute_J")
    )
    outcome = run.manifest.scheme_run(name).outcome
    ended: dict[int, list[str]] = {}
    for loss in outcome.lost if outcome is not None else ():
        ended.setdefault(loss.device, []).append(f"{loss.reason} ({loss.task})")
    energy_J = uplink_J + compute_J
    share = energy_J / devices.battery_J
    return [
        (
            name.scheme,
            name.seed,
            devices.id[i],
            int(jobs[i]),
            measured(float(uplink_J[i])),
            measured(float(compute_J[i])),
            measured(float(energy_J[i])),
            float(devices.battery_J[i]),
            cell(float(share[i]), share_text(share[i])) if np.isfinite(share[i]) else cell(None, "-"),
            ", ".join(ended.get(i, [])),
        )
        for i in range(len(devices))
    ]
