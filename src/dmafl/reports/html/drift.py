"""How data changed while models were trained, as far as a run folder tells: samples of devices over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmafl.reports.html.rounding import shorts
from dmafl.reports.html.run_set import RunSet

BINS = 40
"""Stretches of time that a curve of samples has."""


def samples_over_time(gathered: RunSet) -> list[dict[str, Any]]:
    """One entry a unit and task: mean, fewest and most samples of devices when they began to compute, over time."""
    found = []
    for place, unit in enumerate(gathered.units):
        jobs = gathered.jobs(unit)
        for task in range(len(gathered.tasks)):
            own = (jobs["task"] == task) & (jobs["samples"] > 0)
            if not own.any():
                continue
            time_s, samples = jobs["start_s"][own] + jobs["download_s"][own], jobs["samples"][own]
            edges = np.linspace(time_s.min(), time_s.max(), BINS + 1)
            bins = np.clip(np.searchsorted(edges, time_s, side="right") - 1, 0, BINS - 1)
            used = np.unique(bins)
            groups = [samples[bins == one] for one in used]
            found.append(
                {
                    "unit": place,
                    "task": task,
                    "time_s": shorts([time_s[bins == one].mean() for one in used]),
                    "mean": shorts([group.mean() for group in groups], 4),
                    "low": shorts([group.min() for group in groups]),
                    "high": shorts([group.max() for group in groups]),
                }
            )
    return found


def settings_rows(gathered: RunSet) -> list[list[Any]]:
    """One row a run and task: what the scenario says of drift, and what was measured of it."""
    rows = []
    for number, run in enumerate(gathered.runs):
        measured = next(iter(run.measured.values()), None)
        for name, task in run.scenario.tasks.items():
            rates = [
                _mean(measured.tasks[name].estimates[kind].value)
                if measured is not None and name in measured.tasks and kind in measured.tasks[name].estimates
                else None
                for kind in ("drift_idle", "drift_active")
            ]
            rows.append(
                [
                    *([gathered.names[number]] if len(gathered.runs) > 1 else []),
                    name,
                    task.drift.kind,
                    task.samples_at_start,
                    task.samples,
                    *rates,
                ]
            )
    return rows


def _mean(values: Any) -> float:
    return float(np.mean(values))
