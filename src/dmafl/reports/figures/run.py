"""A run as a picture: accuracy against aggregations, time and energy, one row per task."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmafl.reports.figures.palette import colour, look
from dmafl.reports.figures.run_panels import RunPanels, mark_every
from dmafl.reports.figures.saving import label

AXES = (("aggregation", "aggregations"), ("time_s", "virtual time [s]"), ("energy_J", "energy [J]"))


def run_figure(metrics: Any) -> Any:
    """The metrics table of a run as a figure; seeds are thin lines, their mean is a thick one."""
    panels = RunPanels(metrics, len(AXES), 13, 1, sharey="row")
    for panel, task, column in panels.each():
        axis, axis_name = AXES[column]
        for scheme, place in panels.places.items():
            _curves(panel, panels, panels.rows(task, scheme), axis, label(scheme), place)
        if axis != "aggregation":
            panel.set_xscale("log")
        panels.label_x(panel, task, axis_name)
        if column == 0:
            panel.set_ylabel(f"{label(task)}\ntest accuracy")
    handles, labels = panels.axes[0][0].get_legend_handles_labels()
    panels.figure.legend(
        handles, labels, loc="outside upper center", ncols=max(1, len(labels)), frameon=False
    )
    return panels.figure


def _curves(panel: Any, panels: RunPanels, rows: Any, axis: str, name: str, place: int) -> None:
    """Every seed of a scheme, and the mean over those tests that all seeds have."""
    x, y = panels.columns[axis], panels.columns["accuracy"]
    seeds = panels.by_seed(rows)
    if axis != "aggregation":
        seeds = [seed & (x > 0) for seed in seeds]  # a logarithmic axis has no place for the start
    if len(seeds) > 1:
        for seed in seeds:
            panel.plot(x[seed], y[seed], color=colour(place), alpha=0.25, linewidth=0.8)
    tests = min((int(seed.sum()) for seed in seeds), default=0)
    if tests:
        panel.plot(
            np.mean([x[seed][:tests] for seed in seeds], axis=0),
            np.mean([y[seed][:tests] for seed in seeds], axis=0),
            markevery=mark_every(tests),
            label=name,
            **look(place, 3.5),
        )
