"""How data changed while models were trained, as far as a run folder tells: samples of devices over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmafl.reports.html.rounding import shorts
from dmafl.reports.html.run_set import RunSet

BINS = 40
"""Stretches of time that a curve of samples has."""


def samples_over_time(run_set: RunSet) -> list[dict[str, Any]]:
    """One entry per series and task: mean, fewest and most samples of devices when they began to compute, over time."""
    entries = []
    for place, series in enumerate(run_set.series):
        jobs = run_set.jobs(series)
        for task in range(len(run_set.tasks)):
            of_task = (jobs["task"] == task) & (jobs["samples"] > 0)
            if not of_task.any():
                continue
            time_s, samples = jobs["start_s"][of_task] + jobs["download_s"][of_task], jobs["samples"][of_task]
            edges = np.linspace(time_s.min(), time_s.max(), BINS + 1)
            bins = np.clip(np.searchsorted(edges, time_s, side="right") - 1, 0, BINS - 1)
            used = np.unique(bins)
            groups = [samples[bins == place_of_bin] for place_of_bin in used]
            entries.append(
                {
                    "unit": place,
                    "task": task,
                    "time_s": shorts([time_s[bins == place_of_bin].mean() for place_of_bin in used]),
                    "mean": shorts([group.mean() for group in groups], 4),
                    "low": shorts([group.min() for group in groups]),
                    "high": shorts([group.max() for group in groups]),
                }
            )
    return entries


def settings_rows(run_set: RunSet) -> list[list[Any]]:
    """One row per run and task: what the scenario says of drift, and what was measured of it."""
    rows = []
    for number, run in enumerate(run_set.runs):
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
                    *([run_set.names[number]] if len(run_set.runs) > 1 else []),
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
