"""What is kept of a run or a plan: totals and a thinned curve of every task."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.experiments.campaign.totals import jobs_of_plan, totals
from dmafl.experiments.reproduction.outcome import CURVE, DIVERGED, TOTALS, thinned
from dmafl.experiments.run.run import Run
from dmafl.schedule.plan import Plan
from dmafl.simulation.periods import Metrics, Periods
from dmafl.world.world import World


def data_checksums(run: Run) -> dict[str, str]:
    """Checksums of the data sets that a run used, by name."""
    return {data.dataset: data.sha256 for data in run.manifest.data.values()}


def tasks_of_run(run: Run, seed: int) -> dict[str, Any]:
    """Totals and curve of every task of a run."""
    world = run.world(seed)
    metrics, periods = Metrics.of_table(run.metrics), Periods.of_table(run.periods)
    tasks = {}
    for name in world.task_names:
        jobs, tests = periods.of_task(name), metrics.of_task(name)
        columns = {**tests.columns, "floor_J": _floor_J(world, jobs, tests["time_s"])}
        tasks[name] = {
            "totals": _totals(jobs) | _diverged(jobs),
            "curve": {column: thinned(columns[column]) for column in CURVE},
        }
    return tasks


def tasks_of_plan(plan: Plan) -> dict[str, Any]:
    """Totals of every task of a plan."""
    return {
        name: {"totals": _totals(jobs_of_plan(plan, j)), "curve": {}}
        for j, name in enumerate(plan.world.task_names)
    }


def _floor_J(world: World, periods: Periods, times_s: FloatArray) -> FloatArray:
    """Computing energy by each time, had every job run at its device's lowest frequency.

    E^C is proportional to f^2: the same samples at f_min cost (f_min/f)^2 of what they did.
    """
    lowest = world.devices.frequency_min_Hz[periods["device"]]
    spent = periods["compute_J"] * (lowest / np.maximum(periods["frequency_Hz"], lowest)) ** 2
    return computed_by(periods, spent, times_s)


def computed_by(periods: Periods, spent: FloatArray, times_s: FloatArray) -> FloatArray:
    """What was `spent` on periods whose computation had ended by each time."""
    waited = np.where(periods["upload_s"] > 0, periods["end_s"] - periods["upload_s"], 0.0)
    ended_s = np.maximum(waited, periods["start_s"] + periods["download_s"] + periods["compute_s"])
    order = np.argsort(ended_s, kind="stable")
    so_far = np.concatenate([[0.0], np.cumsum(spent[order])])
    by_then: FloatArray = so_far[np.searchsorted(ended_s[order], times_s * (1 + 1e-12), side="right")]
    return by_then


def _totals(jobs: Periods) -> dict[str, float]:
    of_task = totals(jobs)
    values = [getattr(of_task, name) for name in TOTALS]
    return dict(
        zip(TOTALS, thinned([value or 0.0 for value in values]), strict=True)
    )  # no staleness is kept as 0


def _diverged(jobs: Periods) -> dict[str, int]:
    count = int(jobs.diverged.sum())
    return {DIVERGED: count} if count else {}
