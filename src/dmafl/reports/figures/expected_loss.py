"""A run beside what theory says of it: loss and its prediction, squared gradient norm and its bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dmafl.base.files import columns_of
from dmafl.reports.figures.run import COLOURS, MARKS
from dmafl.reports.figures.saving import label, new_figure, save_figure

PANELS = (
    ("test loss", (("loss", "-", "reached"), ("predicted_loss", "--", "predicted"))),
    (
        "mean squared gradient norm",
        (("grad_norm2", "-", "sampled"), ("bound_sharp", "--", "sharp"), ("bound_printed", ":", "printed")),
    ),
)
"""Of each panel: its label, and column, line and name of each of its curves."""
ROOM = 1e4
"""How many times the largest other value the axis goes up for the printed bound."""


def draw_quality(metrics: Any, path: str | Path) -> None:
    """Write a PNG, SVG or PDF of the metrics table of a run; curves are means over seeds."""
    from matplotlib.lines import Line2D

    columns = columns_of(metrics)
    tasks, schemes = list(dict.fromkeys(columns["task"])), list(dict.fromkeys(columns["scheme"]))
    figure = new_figure(11, 1.4 + 3 * max(1, len(tasks)))
    panels = figure.subplots(max(1, len(tasks)), len(PANELS), squeeze=False, sharex="row")
    for row, task in enumerate(tasks):
        for column, (quantity, curves) in enumerate(PANELS):
            panel = panels[row][column]
            for k, scheme in enumerate(schemes):
                own = (columns["task"] == task) & (columns["scheme"] == scheme)
                for name, line, _ in curves:
                    marked = {"marker": MARKS[k % len(MARKS)], "markersize": 3.5} if line == "-" else {}
                    _curve(
                        panel, columns, own, name, {"color": COLOURS[k % len(COLOURS)], "ls": line, **marked}
                    )
            panel.set_ylabel(f"{label(task)}\n{quantity}" if column == 0 else quantity)
            panel.set_xlabel("aggregations" if row == len(tasks) - 1 else "")
            panel.grid(alpha=0.3)
            if column:
                panel.set_yscale("log")
                _cut(panel, columns, columns["task"] == task)
    for column, (_, curves) in enumerate(PANELS):
        keys = [Line2D([], [], color="#444444", ls=line, label=name) for _, line, name in curves]
        place = "upper right" if column == 0 else "center right"
        panels[0][column].legend(handles=keys, loc=place, frameon=False, fontsize="small")
    keys = [
        Line2D(
            [],
            [],
            color=COLOURS[k % len(COLOURS)],
            marker=MARKS[k % len(MARKS)],
            markersize=4,
            label=label(name),
        )
        for k, name in enumerate(schemes)
    ]
    figure.legend(handles=keys, loc="outside upper center", ncols=max(1, len(keys)), frameon=False)
    save_figure(figure, path)


def _cut(panel: Any, columns: dict[str, Any], own: Any) -> None:
    """Leave out what of the printed bound would flatten everything else, and say how far it goes."""
    values = {
        name: columns[name][own].astype(float) for name in ("grad_norm2", "bound_sharp", "bound_printed")
    }
    largest = {name: float(np.nanmax(one)) for name, one in values.items() if np.isfinite(one).any()}
    rest = max((value for name, value in largest.items() if name != "bound_printed"), default=0.0)
    if 0 < ROOM * rest < largest.get("bound_printed", 0.0):
        lowest = min(float(one[one > 0].min(initial=rest)) for one in values.values())
        panel.set_ylim(lowest / 2, ROOM * rest)
        panel.text(
            0.98,
            0.96,
            f"printed: up to {largest['bound_printed']:.0e}",
            transform=panel.transAxes,
            ha="right",
            va="top",
            fontsize="small",
        )


def _curve(panel: Any, columns: dict[str, Any], own: Any, name: str, style: dict[str, Any]) -> None:
    """The mean over seeds of a column, where every seed has it; a logarithmic axis has no place for values <= 0."""
    seeds = [own & (columns["seed"] == seed) for seed in dict.fromkeys(columns["seed"][own])]
    rows = min((int(seed.sum()) for seed in seeds), default=0)
    if not rows:
        return
    x = np.mean([columns["aggregation"][seed][:rows] for seed in seeds], axis=0)
    y = np.mean([columns[name][seed][:rows].astype(float) for seed in seeds], axis=0)
    shown = np.isfinite(y) & ((y > 0) | (name == "loss"))
    if shown.any():
        panel.plot(x[shown], y[shown], markevery=max(1, rows // 12), **style)
