"""Carrying out one unit of the study: plan if need be, train, keep a few numbers."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np

from dmafl.measuring.measured import Measured
from dmafl.plans.plan import Plan
from dmafl.randomness import FloatArray
from dmafl.runs.folder import RunFolder
from dmafl.runs.planned import Planned
from dmafl.runs.run import Run, run
from dmafl.simulation import records
from dmafl.simulation.laboratory import Material
from dmafl.simulation.workers import Laboratories
from dmafl.study.results import CURVE, DIVERGED, Results, thinned
from dmafl.study.unit import Unit
from dmafl.version import __version__
from dmafl.world.world import World

CHECKPOINT_EVERY_S = 60.0


def carry_out(
    unit: Unit,
    key: str,
    results: Results,
    work: Path,
    *,
    measured: dict[int, Measured],
    data_dir: Path | None,
) -> None:
    """Run a unit in a folder of its own under `work`, keep its outcome, and remove the folder.

    A unit that was interrupted goes on where it was last saved. `measured` is of the tuning seed.
    """
    folder = work / key
    if unit.trained:
        done = run(
            unit.scenario(),
            schemes=[unit.scheme],
            seeds=[unit.seed],
            output=folder,
            resume=True,
            data_dir=data_dir,
            measured=measured if unit.planned else {},
            effort=unit.effort,
            quality=unit.quality,
            dissimilarity=unit.dissimilarity,
            checkpoint_every_s=CHECKPOINT_EVERY_S,
        )
        tasks = _reached(done, unit.seed)
        about = {"versions": done.manifest["versions"], "data": _checksums(done)}
    else:
        laboratories = Laboratories(unit.scenario(), Material(data_dir))
        planned = Planned(
            RunFolder(folder),
            measured,
            laboratories.of,
            unit.effort,
            unit.quality,
            unit.dissimilarity,
        )
        tasks = _planned(planned.plan(unit.scheme, World.resolve(unit.scenario())))
        about = {"versions": {"dmafl": __version__}}
    results.write(key, unit, tasks, about)
    shutil.rmtree(folder, ignore_errors=True)


def _checksums(done: Run) -> dict[str, str]:
    return {task["dataset"]: task["sha256"] for task in done.manifest["data"].values()}


def _reached(done: Run, seed: int) -> dict[str, Any]:
    """Totals and curve of every task of a run."""
    world = done.world(seed)
    metrics, periods = columns_of(done.metrics), columns_of(done.periods)
    found = {}
    for name in world.task_names:
        own = {column: values[periods["task"] == name] for column, values in periods.items()}
        tests = {column: values[metrics["task"] == name] for column, values in metrics.items()}
        tests["floor_J"] = _floor_J(world, own, tests["time_s"])
        found[name] = {
            "totals": _totals(own) | _diverged(own),
            "curve": {column: thinned(tests[column]) for column in CURVE},
        }
    return found


def _floor_J(world: World, periods: dict[str, Any], times_s: FloatArray) -> FloatArray:
    """Computing energy by each time, had every job run at its device's lowest frequency.

    E^C is proportional to f^2: the same samples at f_min cost (f_min/f)^2 of what they did.
    """
    lowest = world.devices.frequency_min_Hz[periods["device"]]
    spent = periods["compute_J"] * (lowest / np.maximum(periods["frequency_Hz"], lowest)) ** 2
    return computed_by(periods, spent, times_s)


def computed_by(periods: dict[str, Any], spent: FloatArray, times_s: FloatArray) -> FloatArray:
    """What was `spent` on periods whose computation had ended by each time."""
    waited = np.where(periods["upload_s"] > 0, periods["end_s"] - periods["upload_s"], 0.0)
    ended_s = np.maximum(waited, periods["start_s"] + periods["download_s"] + periods["compute_s"])
    order = np.argsort(ended_s, kind="stable")
    so_far = np.concatenate([[0.0], np.cumsum(spent[order])])
    found: FloatArray = so_far[np.searchsorted(ended_s[order], times_s * (1 + 1e-12), side="right")]
    return found


def _planned(plan: Plan) -> dict[str, Any]:
    """Totals of every task of a plan."""
    schedule, timeline = plan.schedule, plan.timeline
    found = {}
    for j, name in enumerate(plan.world.task_names):
        own = schedule.task == j
        columns = {one: getattr(schedule, one)[own] for one in ("device", "steps", "batch", "staleness")}
        phases = ("compute_s", "idle_s", "uplink_J", "compute_J", "downlink_J")
        columns |= {one: getattr(timeline, one)[own] for one in phases}
        found[name] = {"totals": _totals(columns), "curve": {}}
    return found


def _totals(jobs: dict[str, Any]) -> dict[str, float]:
    """What all jobs of a task came to."""
    taken = jobs["staleness"] >= 0
    values = {
        "jobs": len(jobs["device"]),
        "devices": len(np.unique(jobs["device"])),
        "steps": jobs["steps"].sum(),
        "samples": (jobs["steps"] * jobs["batch"]).sum(),
        "compute_s": jobs["compute_s"].sum(),
        "idle_s": jobs["idle_s"].sum(),
        "staleness": jobs["staleness"][taken].mean() if taken.any() else 0.0,
        **{phase: jobs[phase].sum() for phase in ("uplink_J", "compute_J", "downlink_J")},
    }
    return dict(zip(values, thinned(list(values.values())), strict=True))


def _diverged(jobs: dict[str, Any]) -> dict[str, int]:
    count = int((jobs["outcome"] == records.DIVERGED).sum())
    return {DIVERGED: count} if count else {}


def columns_of(table: Any) -> dict[str, Any]:
    """The columns of a table as arrays."""
    return {name: table.column(name).to_numpy(zero_copy_only=False) for name in table.column_names}
