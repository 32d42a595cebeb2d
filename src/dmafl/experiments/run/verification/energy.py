"""Rules of energy: what each phase costs, that it adds up, and that batteries suffice."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmafl.experiments.run.verification.findings import (
    REPLAY_TOLERANCE,
    Array,
    Found,
    apart,
    largest,
    together,
)
from dmafl.experiments.run.verification.opened import UnitRows
from dmafl.schedule.checks import TOLERANCE
from dmafl.simulation.ledger import RESOLUTION_J

ENERGIES = ("uplink_J", "compute_J", "downlink_J")


def energy(u: UnitRows) -> Found:
    """Each phase costs what the physics says; cumulative energies of metrics are sums of the phases that had ended."""
    p, w = u.periods, u.world
    device = p["device"]
    computed = u.taken | (p["compute_s"] > 0)
    compute_J = w.compute_J(device, u.task, p["steps"], p["batch"], p["frequency_Hz"])
    sent_J = w.upload_J(device, p["upload_s"])
    # An upload that was cut off, or for which the battery did not suffice, costs at most what it would have.
    uplink = np.where(
        u.taken, np.abs(p["uplink_J"] - sent_J), np.maximum(p["uplink_J"] - sent_J, -p["uplink_J"])
    )
    errors = (
        apart(p["downlink_J"], w.download_J(device, p["download_s"])),
        apart(p["compute_J"], np.where(computed, compute_J, 0.0)),
        uplink - REPLAY_TOLERANCE * sent_J,
    )
    return together([*(u.worst(error) for error in errors), *_sums(u)])


def _sums(u: UnitRows) -> list[Found]:
    m = u.metrics
    total = m["uplink_J"] + m["compute_J"] + m["downlink_J"]
    out = [largest(apart(m["energy_J"], total, total), u.test, 2 * RESOLUTION_J)]
    for j in range(u.world.task_count):
        rows = np.flatnonzero(u.metrics_task == j)
        if len(rows):
            out += _cumulative(u, j, rows)
    return out


def _cumulative(u: UnitRows, task: int, rows: Array) -> list[Found]:
    """By how much a task's cumulative energies differ from the sums of the phases that had ended by then."""
    p, own = u.periods, u.task == task
    downloaded_s = (p["start_s"] + p["download_s"])[own]
    computed_s = downloaded_s + p["compute_s"][own]
    # A wait may lie before or after the computation, so its end is only known to lie between these two.
    ends = {
        "downlink_J": (downloaded_s, downloaded_s),
        "compute_J": (computed_s, computed_s + p["wait_s"][own]),
        "uplink_J": (p["end_s"][own], p["end_s"][own]),
    }
    time_s = u.metrics["time_s"][rows]
    quantum_J = RESOLUTION_J * (1 + np.count_nonzero(own))
    out = []
    for phase, (early_s, late_s) in ends.items():
        told = u.metrics[phase][rows]
        surely = _ended(late_s, p[phase][own], time_s * (1 - REPLAY_TOLERANCE), "left")
        perhaps = _ended(early_s, p[phase][own], time_s * (1 + REPLAY_TOLERANCE), "right")
        # Periods that were still under way when a unit was stopped have no row, but what they had spent counts.
        excess = np.maximum(surely - told, told - perhaps) if u.finished else surely - told
        slack = REPLAY_TOLERANCE * np.abs(perhaps) + quantum_J
        out.append(largest(excess, lambda k: u.test(rows[k]), slack))
    return out


def _ended(ends_s: Array, energy_J: Array, by_s: Array, side: Any) -> Array:
    """Energy of the phases that ended by each time."""
    order = np.argsort(ends_s, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(energy_J[order])])
    return np.asarray(sums[np.searchsorted(ends_s[order], by_s, side=side)])


def battery(u: UnitRows) -> Found:
    """A device spends at most its battery."""
    p, w = u.periods, u.world
    spent = np.bincount(p["device"], p["uplink_J"] + p["compute_J"], minlength=w.device_count)
    limit = w.devices.battery_J
    slack = TOLERANCE * limit + RESOLUTION_J * len(p["device"])
    return largest(spent - limit, lambda i: f"{u.name}, device {w.devices.id[i]}", slack)
