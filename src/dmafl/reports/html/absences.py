"""Devices that were away: when, for the timeline, and how often and how long, as a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmafl.reports.html.html import Html, table
from dmafl.reports.html.rounding import shorts
from dmafl.reports.html.run_set import ReportSeries, RunSet
from dmafl.simulation.outcome import Absence
from dmafl.simulation.records import DEVICE_LEFT

MAX_ABSENCES = 20_000
"""Of one series in a page: about 400 KB."""


def absences(run_set: RunSet) -> list[dict[str, Any] | None]:
    """Of each series: devices, and when they left and returned; None where nobody was away."""
    return [_plain(_of(run_set, series)) for series in run_set.series]


def absences_table(run_set: RunSet) -> Html | None:
    """How often and how long each device was away, and what that cost; nothing where nobody was."""
    rows = [row for series in run_set.series for row in _rows(run_set, series)]
    if not rows:
        return None
    titles = ["scheme", "seed", "device", "times away", "seconds away", "jobs lost"]
    return table("Devices that were away, until the last job or test", titles, rows)


def _of(run_set: RunSet, series: ReportSeries) -> tuple[Absence, ...]:
    outcome = run_set.runs[series.run].manifest.scheme_runs[series.name].outcome
    return () if outcome is None else outcome.absences


def _plain(of_series: tuple[Absence, ...]) -> dict[str, Any] | None:
    if not of_series:
        return None
    shown = of_series[:MAX_ABSENCES]
    return {
        "device": [absence.device for absence in shown],
        "left_s": shorts(np.asarray([absence.left_s for absence in shown]), 8),
        "joined_s": [
            None if absence.joined_s is None else shorts(np.asarray([absence.joined_s]), 8)[0]
            for absence in shown
        ],
    }


def _rows(run_set: RunSet, series: ReportSeries) -> list[list[Any]]:
    of_series = _of(run_set, series)
    if not of_series:
        return []
    metrics, jobs, ids = run_set.metrics, run_set.jobs(series), run_set.world(series).devices.id
    of_run = (metrics["scheme"] == series.scheme) & (metrics["seed"] == series.seed)
    end_s = max(float(metrics["time_s"][of_run].max(initial=0.0)), float(jobs["end_s"].max(initial=0.0)))
    lost = jobs["device"][jobs["outcome"] == DEVICE_LEFT]
    times: dict[int, int] = {}
    seconds: dict[int, float] = {}
    for absence in of_series:
        until_s = end_s if absence.joined_s is None else absence.joined_s
        times[absence.device] = times.get(absence.device, 0) + 1
        seconds[absence.device] = seconds.get(absence.device, 0.0) + max(until_s - absence.left_s, 0.0)
    scheme = run_set.schemes[series.scheme]
    return [
        [scheme, series.seed, ids[device], times[device], seconds[device], int((lost == device).sum())]
        for device in sorted(times)
    ]
