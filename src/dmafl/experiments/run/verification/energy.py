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
from dmafl.experiments.run.verification.presence import cut_off
from dmafl.experiments.run.verification.reported import reported_sums
from dmafl.experiments.run.verification.scheme_run_rows import SchemeRunRows
from dmafl.schedule.checks import TOLERANCE
from dmafl.simulation.ledger import RESOLUTION_J

ENERGIES = ("uplink_J", "compute_J", "downlink_J")


def energy(rows: SchemeRunRows) -> Finding:
    """Each phase costs what the physics says; cumulative energies of metrics are sums of the phases that had ended."""
    if rows.real:
        return together(reported_sums(rows))
    periods, world = rows.periods, rows.world
    device = periods["device"]
    computed, work = periods.computed, (periods["steps"], periods["batch"], periods["frequency_Hz"])
    compute_J = world.compute_J(device, rows.task, *work)
    # A device that leaves pays for the part that is over.
    compute_J = np.where(
        cut_off(rows), compute_J * periods["compute_s"] / world.compute_s(device, rows.task, *work), compute_J
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
    unpaid_J = np.where(cut_off(rows) & ~_used_up(rows), sent_J - periods["uplink_J"], 0.0)
    return together(
        [*(rows.worst(error) for error in (*errors, unpaid_J - REPLAY_TOLERANCE * sent_J)), *_sums(rows)]
    )


def _used_up(rows: SchemeRunRows) -> Array:
    """Whether the battery of each period's device is empty in the end, so that it may not have paid for all."""
    periods, battery_J = rows.periods, rows.world.devices.battery_J
    spent_J = np.bincount(
        periods["device"], periods["uplink_J"] + periods["compute_J"], minlength=len(battery_J)
    )
    return np.asarray((spent_J >= battery_J * (1 - TOLERANCE))[periods["device"]])


def _sums(rows: SchemeRunRows) -> list[Finding]:
    metrics = rows.metrics
    total = metrics["uplink_J"] + metrics["compute_J"] + metrics["downlink_J"]
    out = [largest(apart(metrics["energy_J"], total, total), rows.test, 2 * RESOLUTION_J)]
    for j in range(rows.world.task_count):
        of_task = np.flatnonzero(rows.metrics_task == j)
        if len(of_task):
            out += _cumulative(rows, j, of_task)
    return out


def _cumulative(rows: SchemeRunRows, task: int, of_task: Array) -> list[Finding]:
    """By how much a task's cumulative energies differ from the sums of the phases that had ended by then."""
    periods = rows.periods.where(rows.task == task)
    downloaded_s = periods["start_s"] + periods["download_s"]
    computed_s = downloaded_s + periods["compute_s"]
    # A wait may lie before or after the computation, so its end is only known to lie between these two.
    ends = {
        "downlink_J": (downloaded_s, downloaded_s),
        "compute_J": (computed_s, computed_s + periods["wait_s"]),
        "uplink_J": (periods["end_s"], periods["end_s"]),
    }
    time_s = rows.metrics["time_s"][of_task]
    quantum_J = RESOLUTION_J * (1 + len(periods))
    out = []
    for phase, (early_s, late_s) in ends.items():
        recorded = rows.metrics[phase][of_task]
        surely = _ended(late_s, periods[phase], time_s * (1 - REPLAY_TOLERANCE), "left")
        perhaps = _ended(early_s, periods[phase], time_s * (1 + REPLAY_TOLERANCE), "right")
        # Periods that were still under way when a scheme run was stopped have no row, but what they had spent counts.
        excess = np.maximum(surely - recorded, recorded - perhaps) if rows.finished else surely - recorded
        slack = REPLAY_TOLERANCE * np.abs(perhaps) + quantum_J
        out.append(largest(excess, lambda k: rows.test(of_task[k]), slack))
    return out


def _ended(ends_s: Array, energy_J: Array, by_s: Array, side: Any) -> Array:
    """Energy of the phases that ended by each time."""
    order = np.argsort(ends_s, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(energy_J[order])])
    return np.asarray(sums[np.searchsorted(ends_s[order], by_s, side=side)])


def battery(rows: SchemeRunRows) -> Finding:
    """A device spends at most its battery; what a real one has, it knows itself."""
    if rows.real:
        return Finding()
    periods, world = rows.periods, rows.world
    spent = np.bincount(
        periods["device"], periods["uplink_J"] + periods["compute_J"], minlength=world.device_count
    )
    limit = world.devices.battery_J
    slack = TOLERANCE * limit + RESOLUTION_J * len(periods["device"])
    return largest(spent - limit, lambda i: f"{rows.name}, device {world.devices.id[i]}", slack)
