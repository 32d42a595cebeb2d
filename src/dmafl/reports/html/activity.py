"""What devices did: jobs, samples, times and energies by series, device, task and phase; staleness by scheme."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dmafl.reports.html.rounding import shorts
from dmafl.reports.html.run_set import RunSet

ENERGIES = ("uplink_J", "compute_J", "downlink_J")
PAID_BY_DEVICES = ENERGIES[:2]
TIMES = ("idle_s", "download_s", "compute_s", "upload_s", "wait_s")


def by_device(run_set: RunSet) -> list[dict[str, Any]]:
    """Of each series, tables device x task: `jobs` taken, `trained` samples, and every energy and time."""
    tables = []
    for series in run_set.series:
        jobs = run_set.jobs(series)
        cell = jobs["device"] * len(run_set.tasks) + jobs["task"]
        taken = jobs.taken
        weights = {"jobs": taken, "trained": jobs["steps"] * jobs["batch"] * taken} | {
            name: jobs[name] for name in (*ENERGIES, *TIMES)
        }
        shape = (run_set.world(series).device_count, len(run_set.tasks))
        tables.append(
            {
                name: [
                    shorts(row, 4)
                    for row in np.bincount(
                        cell, weights=values.astype(np.float64), minlength=shape[0] * shape[1]
                    ).reshape(shape)
                ]
                for name, values in weights.items()
            }
        )
    return tables


def energy_of_schemes(run_set: RunSet, tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One entry per scheme and task: energy of each phase, mean over seeds [J]."""
    entries = []
    for scheme, task, places in _of_schemes(run_set):
        sums = {
            name: float(np.mean([known_sum([row[task] for row in tables[k][name]]) for k in places]))
            for name in ENERGIES
        }
        entries.append(
            {"scheme": scheme, "task": task} | {name: shorts([sums[name]], 4)[0] for name in ENERGIES}
        )
    return entries


def known_sum(values: Sequence[float | None]) -> float:
    """The sum; NaN where a part of it is unknown."""
    return sum(float("nan") if value is None else value for value in values)


def staleness(run_set: RunSet) -> list[dict[str, Any]]:
    """One entry per scheme and task: share of jobs taken of staleness 0, 1, 2, ... over all seeds."""
    periods = run_set.periods
    entries = []
    for scheme, task, _ in _of_schemes(run_set):
        stale = periods["staleness"][
            (periods["scheme"] == scheme) & (periods["task"] == task) & periods.taken
        ]
        counts = np.bincount(stale.astype(np.int64))
        if counts.sum():
            entries.append(
                {
                    "scheme": scheme,
                    "task": task,
                    "share": shorts(counts / counts.sum(), 4),
                    "mean": shorts([float(stale.mean())], 4)[0],
                }
            )
    return entries


def _of_schemes(run_set: RunSet) -> list[tuple[int, int, list[int]]]:
    """Scheme, task, and places of the scheme's series."""
    return [
        (scheme, task, [k for k, series in enumerate(run_set.series) if series.scheme == scheme])
        for scheme in range(len(run_set.schemes))
        for task in range(len(run_set.tasks))
    ]
