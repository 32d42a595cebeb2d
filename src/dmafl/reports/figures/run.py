"""A run as a picture: accuracy against aggregations, time and energy, a row a task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dmafl.base.files import columns_of
from dmafl.reports.figures.saving import label, new_figure, save_figure

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#f0e442")
"""Okabe-Ito: told apart with every kind of colour vision."""
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
AXES = (("aggregation", "aggregations"), ("time_s", "virtual time [s]"), ("energy_J", "energy [J]"))


def draw_run(metrics: Any, path: str | Path) -> None:
    """Write a PNG, SVG or PDF of the metrics table of a run; seeds are thin lines, their mean is a thick one."""
    columns = columns_of(metrics)
    tasks, schemes = list(dict.fromkeys(columns["task"])), list(dict.fromkeys(columns["scheme"]))
    figure = new_figure(13, 1 + 3 * max(1, len(tasks)))
    panels = figure.subplots(max(1, len(tasks)), len(AXES), squeeze=False, sharey="row")
    for row, task in enumerate(tasks):
        for column, (axis, axis_name) in enumerate(AXES):
            panel = panels[row][column]
            for k, scheme in enumerate(schemes):
                own = (columns["task"] == task) & (columns["scheme"] == scheme)
                _curve(panel, columns, own, axis, scheme, COLOURS[k % len(COLOURS)], MARKS[k % len(MARKS)])
            if axis != "aggregation":
                panel.set_xscale("log")
            panel.set_xlabel(axis_name if row == len(tasks) - 1 else "")
            panel.grid(alpha=0.3)
        panels[row][0].set_ylabel(f"{label(task)}\ntest accuracy")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=max(1, len(labels)), frameon=False)
    save_figure(figure, path)


def _curve(
    panel: Any, columns: dict[str, Any], own: Any, axis: str, scheme: str, colour: str, mark: str
) -> None:
    seeds = list(dict.fromkeys(columns["seed"][own]))
    curves = []
    for seed in seeds:
        rows = own & (columns["seed"] == seed)
        if axis != "aggregation":
            rows = rows & (columns[axis] > 0)  # a logarithmic axis has no place for the start
        x, y = columns[axis][rows], columns["accuracy"][rows]
        curves.append((x, y))
        if len(seeds) > 1:
            panel.plot(x, y, color=colour, alpha=0.25, linewidth=0.8)
    shortest = min((len(x) for x, _ in curves), default=0)
    if shortest:
        x = np.mean([x[:shortest] for x, _ in curves], axis=0)
        y = np.mean([y[:shortest] for _, y in curves], axis=0)
        panel.plot(
            x,
            y,
            color=colour,
            marker=mark,
            markersize=3.5,
            markevery=max(1, shortest // 12),
            label=label(scheme),
        )
