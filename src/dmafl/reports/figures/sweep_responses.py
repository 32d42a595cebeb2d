"""A sweep as a picture: what follows from every key that was varied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dmafl.experiments.sweep.summary import Group, groups
from dmafl.reports.figures.palette import look
from dmafl.reports.figures.saving import label, new_figure
from dmafl.reports.figures.sweep_points import error_bars, has, having, is_wide, means, of_task

RESPONSES = {
    "loss": "loss reached",
    "predicted_loss": "predicted loss",
    "accuracy": "test accuracy",
    "energy_J": "energy [J]",
    "steps_share": "share of SGD steps",
    "compute_s": "computing [s]",
    "idle_s": "idle [s]",
    "devices": "devices used",
    "staleness": "mean staleness",
}
"""Column of the sweep's table -> label of its panel."""
ACROSS = 3
"""Panels side by side."""


def responses_figure(table: Any, keys: Sequence[str]) -> Any:
    """One block of panels per key, one line per task, with the interval over seeds.

    Where several keys were varied, values are means over the others.
    """
    all_points = groups(table, keys)
    columns = [column for column in RESPONSES if has(all_points, column)]
    lines = -(-len(columns) // ACROSS)
    figure = new_figure(4.2 * ACROSS, 0.6 + 2.6 * lines * len(keys))
    panels = figure.subplots(max(1, lines * len(keys)), ACROSS, squeeze=False)
    for block, key in enumerate(keys):
        points = groups(table, [key])
        of_key = panels[block * lines : (block + 1) * lines].flat
        for place, panel in enumerate(of_key):
            if place >= len(columns):
                panel.set_axis_off()
                continue
            _response(panel, points, columns[place])
            panel.set_xlabel(label(key), fontsize="small")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=max(1, len(labels)), frameon=False)
    return figure


def _response(panel: Any, points: Sequence[Group], column: str) -> None:
    choices = list(dict.fromkeys(point.settings[0] for point in points))
    numeric = all(isinstance(choice, float) for choice in choices)
    drawn: list[float] = []
    for place, task in enumerate(dict.fromkeys(point.task for point in points)):
        line = having(of_task(points, task), column)
        if numeric:
            line = sorted(line, key=lambda point: point.settings[0])
        x = [point.settings[0] if numeric else choices.index(point.settings[0]) for point in line]
        error_bars(panel, x, [point.values[column] for point in line], label=label(task), **look(place, 4.5))
        drawn += means(line, column)
    if numeric and is_wide(choices):
        panel.set_xscale("log")
    elif not numeric:
        panel.set_xticks(range(len(choices)), [label(str(choice)) for choice in choices])
    if is_wide(drawn):
        panel.set_yscale("log")
    panel.set_ylabel(RESPONSES[column])
    panel.grid(alpha=0.3)
