"""What a plan is worth: the terms of each task's quality beside its work and energy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from rich.console import Console
from rich.table import Table

from dmafl.reports.numbers import number
from dmafl.reports.terminal.console import table
from dmafl.reports.terminal.energy_table import task_energy_table
from dmafl.schedule.goal_limits import limits_used
from dmafl.schedule.plan import Plan
from dmafl.schedule.plan_status import PlanStatus


def print_plan(out: Console, plan: Plan) -> None:
    """Tables of a plan: work and energy, then the terms of its quality, and what its solver says."""
    out.print(task_energy_table(plan.world, plan.schedule, plan.timeline))
    out.print(work_table(plan))
    if plan.terms:
        out.print(terms_table(plan))
    if plan.predicted:
        out.print(predicted_table(plan))
    for task, reached in rehearsed(plan).items():
        text = (
            f"{task}: {len(reached)} trainings of this plan reached {min(reached):.3f} to {max(reached):.3f}"
        )
        out.print(text, highlight=False, markup=False)
    for limit in limits_used(plan):
        text = f"{limit.name}: {number(limit.used)} {limit.unit} of {number(limit.limit)} ({limit.where})"
        out.print(text, highlight=False, markup=False)
    if plan.status is not PlanStatus.EXECUTABLE:
        out.print(f"Status: {plan.status.sentence}", highlight=False, markup=False)


def rehearsed(plan: Plan) -> dict[str, list[float]]:
    """By task: the accuracies that trainings of the plan reached before it was given."""
    goals = plan.constants.get("goals")
    seen = goals.get("rehearsed") if isinstance(goals, Mapping) else None
    return dict(seen) if isinstance(seen, Mapping) else {}


def work_table(plan: Plan) -> Table:
    """One row per task: smallest, mean and largest steps, batch, frequency and staleness, and the busiest device."""
    rows = table("Work of a job", "task", "steps", "batch", "frequency [MHz]", "staleness", "busiest device")
    schedule = plan.schedule
    for j, name in enumerate(plan.world.task_names):
        of_task = schedule.task == j
        counts = np.bincount(schedule.device[of_task], minlength=plan.world.device_count)
        busiest = int(np.argmax(counts))
        rows.add_row(
            name,
            _range(schedule.steps[of_task]),
            _range(schedule.batch[of_task]),
            _range(schedule.frequency_Hz[of_task] / 1e6),
            _range(schedule.staleness[of_task]),
            f"{plan.world.devices.id[busiest]} ({counts[busiest]} of {of_task.sum()})",
        )
    return rows


def terms_table(plan: Plan) -> Table:
    """One row per task: every term of its quality, and their sum."""
    names = list(plan.quality_parts(next(iter(plan.terms))))
    rows = table(f"Quality ({plan.quality}), term by term", "task", *names, "sum")
    for task, terms in plan.terms.items():
        rows.add_row(task, *(number(terms[name]) for name in names), number(terms["quality"]))
    return rows


def predicted_table(plan: Plan) -> Table:
    """One row per task: the loss and accuracy that it is predicted to reach, with an interval."""
    share = next(iter(plan.predicted.values())).confidence
    rows = table("Prediction", "task", "aggregations", "loss", "accuracy", f"{share:.0%} of runs")
    for task, expected in plan.predicted.items():
        rows.add_row(
            task,
            str(plan.world.scenario.tasks[task].slots),
            number(expected.loss),
            f"{expected.accuracy:.3f}",
            f"{expected.low:.3f} to {expected.high:.3f}",
        )
    return rows


def _range(values: np.ndarray) -> str:
    if not len(values):
        return "-"
    low, mean, high = float(values.min()), float(values.mean()), float(values.max())
    return number(mean) if low == high else f"{number(mean)} ({number(low)} to {number(high)})"
