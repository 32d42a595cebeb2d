"""A sizing as a picture: energy against predicted accuracy with its band, and the plan that was chosen."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmafl.experiments.sizing.front import aimed_tasks
from dmafl.experiments.sizing.plan_summary import TaskSummary
from dmafl.experiments.sizing.sizing import Sizing
from dmafl.experiments.sweep.summary import front
from dmafl.reports.figures.axes import logarithmic
from dmafl.reports.figures.palette import MARKS, colour
from dmafl.reports.figures.saving import label, new_figure
from dmafl.reports.figures.sweep_points import is_wide

CHOSEN = MARKS[7]


def front_figure(sizing: Sizing) -> Any:
    """One panel per task that has a goal: what each predicted accuracy costs, and the chosen plan as a star."""
    goals = sizing.plan.world.scenario.goals
    tasks = [
        task
        for task in aimed_tasks(sizing.plan.world.scenario)
        if sizing.summary.tasks[task].accuracy is not None
    ]
    figure = new_figure(1.0 + 4.6 * max(1, len(tasks)), 4.2)
    panels = figure.subplots(1, max(1, len(tasks)), squeeze=False)[0]
    for place, (panel, task) in enumerate(zip(panels, tasks, strict=False)):
        goal = None if goals.accuracy is None else goals.accuracy.of(task)
        points = [point.summary.tasks[task] for point in sizing.front if point.summary is not None]
        _panel(panel, points, sizing.summary.tasks[task], goal, colour(place))
        panel.set_title(label(task), fontsize="medium")
        panel.set_xlabel("energy of the task, devices and station [J]")
    panels[0].set_ylabel(f"predicted accuracy, with {goals.confidence:.0%} of runs")
    handles, labels = panels[0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def _panel(panel: Any, points: list[TaskSummary], chosen: TaskSummary, goal: float | None, tint: str) -> None:
    """The plans of one task that no other one beats, their band, the other plans, and the chosen one."""
    known = [point for point in (*points, chosen) if point.accuracy is not None]
    energy_J, low, middle, high = (
        np.asarray([getattr(point, name) for point in known], dtype=float)
        for name in ("energy_J", "low", "accuracy", "high")
    )
    best = front(energy_J, -middle)
    panel.fill_between(
        energy_J[best], low[best], high[best], color=tint, alpha=0.2, linewidth=0, label="band"
    )
    panel.plot(energy_J[best], middle[best], color=tint, marker=MARKS[0], markersize=5, label="plans")
    others = np.setdiff1d(np.arange(len(known)), best)
    panel.plot(
        energy_J[others], middle[others], color=tint, marker=MARKS[0], markersize=4, linestyle="", alpha=0.4
    )
    panel.plot(
        [chosen.energy_J],
        [chosen.accuracy],
        color="#000000",
        marker=CHOSEN,
        markersize=13,
        linestyle="",
        label="chosen",
    )
    if goal is not None:
        panel.axhline(goal, color="#999999", linestyle="--", linewidth=1, label="goal")
    if is_wide(energy_J.tolist()):
        logarithmic(panel)
    panel.grid(alpha=0.3)
