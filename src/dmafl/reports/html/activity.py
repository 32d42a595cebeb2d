"""What devices did: jobs, samples, times and energies by unit, device, task and phase; staleness by scheme and task."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmafl.reports.html.rounding import shorts
from dmafl.reports.html.run_set import RunSet

ENERGIES = ("uplink_J", "compute_J", "downlink_J")
TIMES = ("idle_s", "download_s", "compute_s", "upload_s", "wait_s")


def by_device(gathered: RunSet) -> list[dict[str, Any]]:
    """Of each unit, tables device x task: `jobs` taken, `trained` samples, and every energy and time."""
    found = []
    for unit in gathered.units:
        jobs = gathered.jobs(unit)
        cell = jobs["device"] * len(gathered.tasks) + jobs["task"]
        taken = jobs.taken
        weights = {"jobs": taken, "trained": jobs["steps"] * jobs["batch"] * taken} | {
            name: jobs[name] for name in (*ENERGIES, *TIMES)
        }
        shape = (gathered.world(unit).device_count, len(gathered.tasks))
        found.append(
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
    return found


def energy_of_schemes(gathered: RunSet, tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One entry a scheme and task: energy of each phase, mean over seeds [J]."""
    found = []
    for scheme, task, own in _of_schemes(gathered):
        sums = {
            name: float(np.mean([sum(row[task] for row in tables[k][name]) for k in own]))
            for name in ENERGIES
        }
        found.append(
            {"scheme": scheme, "task": task} | {name: shorts([sums[name]], 4)[0] for name in ENERGIES}
        )
    return found


def staleness(gathered: RunSet) -> list[dict[str, Any]]:
    """One entry a scheme and task: share of jobs taken of staleness 0, 1, 2, ... over all seeds."""
    periods = gathered.periods
    found = []
    for scheme, task, _ in _of_schemes(gathered):
        stale = periods["staleness"][
            (periods["scheme"] == scheme) & (periods["task"] == task) & periods.taken
        ]
        counts = np.bincount(stale.astype(np.int64))
        if counts.sum():
            found.append(
                {
                    "scheme": scheme,
                    "task": task,
                    "share": shorts(counts / counts.sum(), 4),
                    "mean": shorts([float(stale.mean())], 4)[0],
                }
            )
    return found


def _of_schemes(gathered: RunSet) -> list[tuple[int, int, list[int]]]:
    """Scheme, task, and places of the scheme's units."""
    return [
        (scheme, task, [k for k, unit in enumerate(gathered.units) if unit.scheme == scheme])
        for scheme in range(len(gathered.schemes))
        for task in range(len(gathered.tasks))
    ]
