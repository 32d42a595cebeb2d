"""Energies of runs on real devices: sums of what was reported, unknown as soon as a part of them is."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dmafl.experiments.run.verification.findings import REPLAY_TOLERANCE, Array, Finding, largest
from dmafl.experiments.run.verification.scheme_run_rows import SchemeRunRows

PHASES = ("uplink_J", "compute_J", "downlink_J")
WRONG = 1.0
"""Of an energy that is there and must not be, or the other way round [J]."""


def reported_sums(rows: SchemeRunRows) -> Iterator[Finding]:
    """Energies of tests are the sums of their phases, and those of the periods that had ended."""
    metrics = rows.metrics
    total_J = metrics["uplink_J"] + metrics["compute_J"] + metrics["downlink_J"]
    yield largest(_apart(metrics["energy_J"], total_J), rows.test)
    for task in range(rows.world.task_count):
        tests = np.flatnonzero(rows.metrics_task == task)
        # A period that the end of its task has cut off is written down after the last test.
        of_task = (rows.task == task) & (rows.periods["outcome"] != "unfinished")
        ends_s, time_s = rows.periods["end_s"][of_task], metrics["time_s"][tests]
        # Which of several events at one time came first shows only where one of them completed the slot.
        slot = rows.periods["slot"][of_task]
        surely = [
            max(int((ends_s < at_s).sum()), *(np.flatnonzero((slot >= 0) & (slot < version)) + 1), 0)
            for at_s, version in zip(time_s, metrics["aggregation"][tests], strict=True)
        ]
        for phase in PHASES:
            joules, recorded = rows.periods[phase][of_task], metrics[phase][tests]
            least = np.asarray([joules[:count].sum() for count in surely])
            most = np.asarray([joules[ends_s <= at_s].sum() for at_s in time_s])
            excess = np.minimum(_apart(recorded, least), _apart(recorded, most))
            between = np.isfinite(recorded) & (recorded >= least) & ~(recorded > most)
            yield largest(np.where(between, 0.0, excess), lambda k, tests=tests: rows.test(tests[k]))  # type: ignore[misc]


def _apart(recorded: Array, again: Array) -> Array:
    """By how much two energies differ beyond rounding [J]; nothing where both are unknown."""
    both = np.isfinite(recorded) & np.isfinite(again)
    difference = np.abs(np.where(both, recorded - again, 0.0))
    beyond = np.maximum(difference - REPLAY_TOLERANCE * np.abs(np.where(both, again, 0.0)), 0.0)
    return np.where(np.isfinite(recorded) == np.isfinite(again), beyond, WRONG)
