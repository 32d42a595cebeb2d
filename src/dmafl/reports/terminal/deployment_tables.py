"""What `dmafl deploy status` found."""

from __future__ import annotations

from dmafl.hosting.overview import Overview
from dmafl.reports.tables.table import Table
from dmafl.reports.terminal.console import Terminal


def print_overview(out: Terminal, seen: Overview) -> None:
    """What runs here; devices and runs of the server."""
    columns = {"name": "name", "state": "state", "address": "address", "since": "since", "pid": "process"}
    rows = [
        (
            record.name,
            _state(record.keeper.alive, record.alive),
            record.address,
            record.since,
            record.keeper.pid,
        )
        for record in seen.here
    ]
    left = ("state", "address", "since")
    out.print(Table.made("here", "On this machine", columns, rows, left=left))
    if seen.problem:
        out.note(seen.problem)
        return
    columns = {"name": "device", "state": "state", "node": "number"}
    devices = [(device.name or "?", device.state, device.node) for device in seen.devices]
    out.print(Table.made("devices", "Devices that the server knows", columns, devices, left=("state",)))
    columns = {"run": "number", "state": "state", "since": "since"}
    runs = [(run.number, run.state, run.since) for run in seen.runs]
    out.print(Table.made("runs", "Runs", columns, runs, left=("state", "since")))


def _state(kept: bool, alive: bool) -> str:
    if kept:
        return "running"
    return "left behind" if alive else "dead"
