"""The outcome of a point, one row per task: loss and accuracy, energy by phase, work, time, devices, staleness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dmafl.base.statistics import mean_over_aggregations
from dmafl.experiments.campaign.totals import PHASES, Totals, jobs_of_plan, totals
from dmafl.experiments.run.run import Run
from dmafl.schedule.plan import Plan
from dmafl.simulation.periods import Metrics, Periods

NUMBERS = (
    "aggregations",
    "time_s",
    "quality",
    "predicted_loss",
    "loss",
    "accuracy",
    "mean_accuracy",
    "energy_J",
    *PHASES,
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
OF_TOTALS = (
    "energy_J",
    *PHASES,
    "jobs",
    "steps",
    "compute_s",
    "idle_s",
    "devices",
    "staleness",
    "max_staleness",
)


def rows_of_run(run: Run, tasks: Sequence[str], plan: Plan | None) -> list[dict[str, Any]]:
    """One row for each task of a run that is done; `plan` is what it carried out, if anything."""
    metrics, periods = Metrics.of_table(run.metrics), Periods.of_table(run.periods)
    rows = []
    for task in tasks:
        tests = metrics.of_task(task)
        last = {name: column[-1].item() for name, column in tests.columns.items() if column.dtype != object}
        quality = _quality(plan, task)
        if np.isfinite(last["predicted_loss"]):
            quality["predicted_loss"] = last["predicted_loss"]
        jobs = periods.of_task(task)
        rows.append(
            {
                "task": task,
                "aggregations": last["aggregation"],
                **{name: last[name] for name in ("time_s", "loss", "accuracy")},
                "mean_accuracy": mean_over_aggregations(tests["aggregation"], tests["accuracy"]),
                **quality,
                **_of_totals(totals(jobs)),
                "diverged": int(jobs.diverged.sum()),
            }
        )
    return _with_shares(rows)


def rows_of_plan(plan: Plan) -> list[dict[str, Any]]:
    """One row for each task of a plan."""
    rows = []
    for j, task in enumerate(plan.world.task_names):
        jobs = jobs_of_plan(plan, j)
        rows.append(
            {
                "task": task,
                "aggregations": len(jobs),
                "time_s": float(jobs["end_s"].max()),
                **_quality(plan, task),
                **_of_totals(totals(jobs)),
            }
        )
    return _with_shares(rows)


def _of_totals(of_task: Totals) -> dict[str, Any]:
    return {name: getattr(of_task, name) for name in OF_TOTALS}


def _with_shares(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with the part of all steps that each task got."""
    steps = sum(row["steps"] for row in rows)
    return [row | {"steps_share": row["steps"] / steps if steps else None} for row in rows]


def _quality(plan: Plan | None, task: str) -> dict[str, float]:
    """What the plan was made to expect of a task."""
    terms: Mapping[str, float] = plan.terms.get(task, {}) if plan is not None else {}
    if plan is None or "quality" not in terms:
        return {}
    predicts = plan.quality.loss_model == "calibrated"
    return {"quality": terms["quality"]} | ({"predicted_loss": terms["quality"]} if predicts else {})
