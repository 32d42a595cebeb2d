"""What a plan is worth: the terms of each task's quality beside its work and energy."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from pathlib import Path

import numpy as np

from dmafl.reports.numbers import number
from dmafl.reports.tables.table import Cell, Table, Value, cell
from dmafl.reports.terminal.console import Terminal
from dmafl.reports.terminal.energy_table import task_energy_table
from dmafl.schedule.goal_limits import limits_used
from dmafl.schedule.plan import Plan
from dmafl.schedule.plan_status import PlanStatus


def print_plan(out: Terminal, plan: Plan) -> None:
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
        out.note(text)
    for limit in limits_used(plan):
        text = f"{limit.name}: {number(limit.used)} {limit.unit} of {number(limit.limit)} ({limit.where})"
        out.note(text)
    if plan.status is not PlanStatus.EXECUTABLE:
        out.note(f"Status: {plan.status.sentence}")


def plan_row(plan: Plan, gap: float | None, path: Path) -> Table:
    """One row for other programs: objective, status, proven gap and file of a plan."""
    columns = {"objective": "objective", "gap": "gap", "status": "status", "file": "file"}
    row = (plan.objective, gap, str(plan.status), str(path))
    return Table.made("plan", "The plan", columns, [row])


def rehearsed(plan: Plan) -> dict[str, list[float]]:
    """By task: the accuracies that trainings of the plan reached before it was given."""
    goals = plan.constants.get("goals")
    seen = goals.get("rehearsed") if isinstance(goals, Mapping) else None
    return dict(seen) if isinstance(seen, Mapping) else {}


def work_table(plan: Plan) -> Table:
    """One row per task: smallest, mean and largest steps, batch, frequency and staleness, and the busiest device."""
    columns = {
        "task": "task",
        "steps": "steps",
        "batch": "batch",
        "frequency_MHz": "frequency [MHz]",
        "staleness": "staleness",
        "busiest_device": "busiest device",
        "its_jobs": "its jobs",
    }
    rows = []
    schedule = plan.schedule
    for j, name in enumerate(plan.world.task_names):
        of_task = schedule.task == j
        counts = np.bincount(schedule.device[of_task], minlength=plan.world.device_count)
        busiest = int(np.argmax(counts))
        device = plan.world.devices.id[busiest]
        rows.append(
            (
                name,
                _range(schedule.steps[of_task]),
                _range(schedule.batch[of_task]),
                _range(schedule.frequency_Hz[of_task] / 1e6),
                _range(schedule.staleness[of_task]),
                cell(device, f"{device} ({counts[busiest]} of {of_task.sum()})"),
                int(counts[busiest]),
            )
        )
    ranges = ["steps", "batch", "frequency_MHz", "staleness"]
    return Table.made("work", "Work of a job", columns, rows, intervals=ranges, only_in_files=["its_jobs"])


def terms_table(plan: Plan) -> Table:
    """One row per task: every term of its quality, and their sum."""
    names = list(plan.quality_parts(next(iter(plan.terms))))
    columns = {"task": "task", **dict(zip(names, names, strict=True)), "quality": "sum"}
    rows: list[tuple[Value, ...]] = [
        (task, *(float(terms[name]) for name in names), float(terms["quality"]))
        for task, terms in plan.terms.items()
    ]
    return Table.made("quality", f"Quality ({plan.quality}), term by term", columns, rows)


def predicted_table(plan: Plan) -> Table:
    """One row per task: the loss and accuracy that it is predicted to reach, with an interval."""
    share = next(iter(plan.predicted.values())).confidence
    columns = {
        "task": "task",
        "aggregations": "aggregations",
        "loss": "loss",
        "accuracy": "accuracy",
        "confidence": "confidence",
        "of_runs": f"{share:.0%} of runs",
    }
    rows = [
        (
            task,
            plan.world.scenario.tasks[task].slots,
            float(expected.loss),
            cell(float(expected.accuracy), f"{expected.accuracy:.3f}"),
            float(expected.confidence),
            cell(
                float(expected.accuracy),
                f"{expected.low:.3f} to {expected.high:.3f}",
                ends=(float(expected.low), float(expected.high)),
            ),
        )
        for task, expected in plan.predicted.items()
    ]
    return Table.made(
        "prediction", "Prediction", columns, rows, intervals=["of_runs"], only_in_files=["confidence"]
    )


def _range(values: np.ndarray) -> Cell:
    """The mean, and the smallest and largest value."""
    if not len(values):
        return cell(None, "-", ends=(nan, nan))
    low, mean, high = float(values.min()), float(values.mean()), float(values.max())
    text = number(mean) if low == high else f"{number(mean)} ({number(low)} to {number(high)})"
    return cell(mean, text, ends=(low, high))
