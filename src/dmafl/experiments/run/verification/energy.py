"""Rules of energy: what each phase costs, that it adds up, and that batteries suffice."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmafl.experiments.run.verification.findings import (
    REPLAY_TOLERANCE,
    Array,
    Finding,
    apart,
    largest,
    together,
)
from dmafl.experiments.run.verification.unit_rows import UnitRows
from dmafl.schedule.checks import TOLERANCE
from dmafl.simulation.ledger import RESOLUTION_J

ENERGIES = ("uplink_J", "compute_J", "downlink_J")


def energy(unit: UnitRows) -> Finding:
    """Each phase costs what the physics says; cumulative energies of metrics are sums of the phases that had ended."""
    periods, world = unit.periods, unit.world
    device = periods["device"]
    computed = periods.computed
    compute_J = world.compute_J(
        device, unit.task, periods["steps"], periods["batch"], periods["frequency_Hz"]
    )
    sent_J = world.upload_J(device, periods["upload_s"])
    # An upload that was cut off, or for which the battery did not suffice, costs at most what it would have.
    uplink = np.where(
        periods.taken,
        np.abs(periods["uplink_J"] - sent_J),
        np.maximum(periods["uplink_J"] - sent_J, -periods["uplink_J"]),
    )
    errors = (
        apart(periods["downlink_J"], world.download_J(device, periods["download_s"])),
        apart(periods["compute_J"], np.where(computed, compute_J, 0.0)),
        uplink - REPLAY_TOLERANCE * sent_J,
    )
    return together([*(unit.worst(error) for error in errors), *_sums(unit)])


def _sums(unit: UnitRows) -> list[Finding]:
    metrics = unit.metrics
    total = metrics["uplink_J"] + metrics["compute_J"] + metrics["downlink_J"]
    out = [largest(apart(metrics["energy_J"], total, total), unit.test, 2 * RESOLUTION_J)]
    for j in range(unit.world.task_count):
        rows = np.flatnonzero(unit.metrics_task == j)
        if len(rows):
            out += _cumulative(unit, j, rows)
    return out


def _cumulative(unit: UnitRows, task: int, rows: Array) -> list[Finding]:
    """By how much a task's cumulative energies differ from the sums of the phases that had ended by then."""
    periods = unit.periods.where(unit.task == task)
    downloaded_s = periods["start_s"] + periods["download_s"]
    computed_s = downloaded_s + periods["compute_s"]
    # A wait may lie before or after the computation, so its end is only known to lie between these two.
    ends = {
        "downlink_J": (downloaded_s, downloaded_s),
        "compute_J": (computed_s, computed_s + periods["wait_s"]),
        "uplink_J": (periods["end_s"], periods["end_s"]),
    }
    time_s = unit.metrics["time_s"][rows]
    quantum_J = RESOLUTION_J * (1 + len(periods))
    out = []
    for phase, (early_s, late_s) in ends.items():
        recorded = unit.metrics[phase][rows]
        surely = _ended(late_s, periods[phase], time_s * (1 - REPLAY_TOLERANCE), "left")
        perhaps = _ended(early_s, periods[phase], time_s * (1 + REPLAY_TOLERANCE), "right")
        # Periods that were still under way when a unit was stopped have no row, but what they had spent counts.
        excess = np.maximum(surely - recorded, recorded - perhaps) if unit.finished else surely - recorded
        slack = REPLAY_TOLERANCE * np.abs(perhaps) + quantum_J
        out.append(largest(excess, lambda k: unit.test(rows[k]), slack))
    return out


def _ended(ends_s: Array, energy_J: Array, by_s: Array, side: Any) -> Array:
    """Energy of the phases that ended by each time."""
    order = np.argsort(ends_s, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(energy_J[order])])
    return np.asarray(sums[np.searchsorted(ends_s[order], by_s, side=side)])


def battery(unit: UnitRows) -> Finding:
    """A device spends at most its battery."""
    periods, world = unit.periods, unit.world
    spent = np.bincount(
        periods["device"], periods["uplink_J"] + periods["compute_J"], minlength=world.device_count
    )
    limit = world.devices.battery_J
    slack = TOLERANCE * limit + RESOLUTION_J * len(periods["device"])
    return largest(spent - limit, lambda i: f"{unit.name}, device {world.devices.id[i]}", slack)
