"""What came of a point, a row a task: loss and accuracy, energy by phase, work, time, devices, staleness."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dmafl.plans.files import read_plan
from dmafl.plans.plan import Plan
from dmafl.runs.run import Run
from dmafl.simulation.records import DIVERGED, NOT_AGGREGATED
from dmafl.statistics import mean_over_aggregations
from dmafl.sweeps.work import Order

ENERGIES = ("uplink_J", "compute_J", "downlink_J")
NUMBERS = (
    "aggregations",
    "time_s",
    "quality",
    "predicted_loss",
    "loss",
    "accuracy",
    "mean_accuracy",
    "energy_J",
    *ENERGIES,
    "jobs",
    "diverged",
    "steps",
    "steps_share",
    "compute_s",
    "idle_s",
    "devices",
    "staleness",
    "max_staleness",
)
"""Columns of numbers, in the order of the file; null where there is none."""

Columns = dict[str, Any]


def rows_of(order: Order) -> list[dict[str, Any]]:
    """A row for every task of a point that is done."""
    plan = read_plan(order.plan_file).plan if order.how.plans else None
    rows = _planned(plan) if order.how.plan_only and plan is not None else _run(order, plan)
    every = sum(row["steps"] for row in rows)
    return [row | {"steps_share": row["steps"] / every if every else None} for row in rows]


def _run(order: Order, plan: Plan | None) -> list[dict[str, Any]]:
    run = Run(order.folder)
    metrics, periods = _columns(run.metrics), _columns(run.periods)
    rows = []
    for task in order.point.scenario.tasks:
        tests = {name: column[metrics["task"] == task] for name, column in metrics.items()}
        last = {name: column[-1].item() for name, column in tests.items() if column.dtype != object}
        quality = _quality(plan, task)
        if np.isfinite(last["predicted_loss"]):
            quality["predicted_loss"] = last["predicted_loss"]
        own = {name: column[periods["task"] == task] for name, column in periods.items()}
        rows.append(
            {
                "task": task,
                "aggregations": last["aggregation"],
                **{name: last[name] for name in ("time_s", "loss", "accuracy", "energy_J", *ENERGIES)},
                "mean_accuracy": mean_over_aggregations(tests["aggregation"], tests["accuracy"]),
                **quality,
                **_work(own, own["slot"] != NOT_AGGREGATED),
                "diverged": int((own["outcome"] == DIVERGED).sum()),
            }
        )
    return rows


def _planned(plan: Plan) -> list[dict[str, Any]]:
    schedule, timeline = plan.schedule, plan.timeline
    rows = []
    for j, task in enumerate(plan.world.task_names):
        own = schedule.task == j
        jobs: Columns = {name: column[own] for name, column in schedule.columns().items()}
        jobs |= {
            name: getattr(timeline, name)[own] for name in ("end_s", "compute_s", "idle_s", *ENERGIES)
        } | {"staleness": schedule.staleness[own]}
        energies = {name: float(jobs[name].sum()) for name in ENERGIES}
        rows.append(
            {
                "task": task,
                "aggregations": int(own.sum()),
                "time_s": float(jobs["end_s"].max()),
                "energy_J": sum(energies.values()),
                **energies,
                **_quality(plan, task),
                **_work(jobs, np.ones(int(own.sum()), dtype=bool)),
            }
        )
    return rows


def _work(jobs: Columns, taken: Any) -> dict[str, Any]:
    """Totals of a task's jobs; `taken` are those whose upload the server took."""
    computed = jobs["compute_s"] > 0
    return {
        "jobs": int(taken.sum()),
        "steps": int(jobs["steps"][computed].sum()),
        "compute_s": float(jobs["compute_s"].sum()),
        "idle_s": float(jobs["idle_s"].sum()),
        "devices": len(np.unique(jobs["device"][taken])),
        "staleness": float(jobs["staleness"][taken].mean()) if taken.any() else None,
        "max_staleness": int(jobs["staleness"][taken].max()) if taken.any() else None,
    }


def _quality(plan: Plan | None, task: str) -> dict[str, float]:
    """What the plan was made to expect of a task."""
    terms: Mapping[str, float] = plan.terms.get(task, {}) if plan is not None else {}
    if plan is None or "quality" not in terms:
        return {}
    predicts = plan.quality.startswith("calibrated")
    return {"quality": terms["quality"]} | ({"predicted_loss": terms["quality"]} if predicts else {})


def _columns(table: Any) -> Columns:
    return {name: table.column(name).to_numpy(zero_copy_only=False) for name in table.column_names}
