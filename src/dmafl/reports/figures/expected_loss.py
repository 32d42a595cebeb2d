"""A run beside what theory says of it: accuracy and loss as predicted, squared gradient norm and its bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmafl.base.files import columns_of
from dmafl.reports.figures.palette import colour, look
from dmafl.reports.figures.run_panels import RunPanels, mark_every
from dmafl.reports.figures.saving import label

BAND = ("predicted_accuracy_low", "predicted_accuracy_high")
ACCURACY = (
    "test accuracy",
    (("accuracy", "-", "reached"), ("predicted_accuracy", "--", "predicted, with its band")),
)
"""Shown where a run has it."""
GRADIENT = "mean squared gradient norm"
PANELS = (
    ("test loss", (("loss", "-", "reached"), ("predicted_loss", "--", "predicted"))),
    (
        GRADIENT,
        (("grad_norm2", "-", "sampled"), ("bound_sharp", "--", "sharp"), ("bound_printed", ":", "printed")),
    ),
)
"""Of each panel: its label, and column, line and name of each of its curves."""
ROOM = 1e4
"""How many times the largest other value the axis goes up for the printed bound."""


def quality_figure(metrics: Any) -> Any:
    """The metrics table of a run as a figure; curves are means over seeds."""
    known = columns_of(metrics.select(["predicted_accuracy"]))["predicted_accuracy"].astype(float)
    shown = (ACCURACY, *PANELS) if np.isfinite(known).any() else PANELS
    panels = RunPanels(metrics, len(shown), 5.5 * len(shown), 1.4, sharex="row")
    for panel, task, column in panels.each():
        quantity, curves = shown[column]
        for scheme, place in panels.places.items():
            for name, line, _ in curves:
                style = look(place, 3.5) if line == "-" else {"color": colour(place)}
                _curve(panel, panels, panels.rows(task, scheme), name, {"ls": line, **style})
            if quantity == ACCURACY[0]:
                _band(panel, panels, panels.rows(task, scheme), colour(place))
        panel.set_ylabel(f"{label(task)}\n{quantity}" if column == 0 else quantity)
        panels.label_x(panel, task, "aggregations")
        if quantity == GRADIENT:
            panel.set_yscale("log")
            _cut(panel, panels.columns, panels.columns["task"] == task)
    _legends(panels, shown)
    return panels.figure


def _legends(panels: RunPanels, shown: tuple[Any, ...]) -> None:
    """What lines mean, in the first row of panels; what colours mean, above all of them."""
    from matplotlib.lines import Line2D

    places = {ACCURACY[0]: "lower right", GRADIENT: "center right"}
    for column, (quantity, curves) in enumerate(shown):
        lines = [Line2D([], [], color="#444444", ls=line, label=name) for _, line, name in curves]
        place = places.get(quantity, "upper right")
        panels.axes[0][column].legend(handles=lines, loc=place, frameon=False, fontsize="small")
    schemes = [Line2D([], [], label=label(name), **look(place, 4)) for name, place in panels.places.items()]
    panels.figure.legend(
        handles=schemes, loc="outside upper center", ncols=max(1, len(schemes)), frameon=False
    )


def _cut(panel: Any, columns: dict[str, Any], rows: Any) -> None:
    """Leave out what of the printed bound would flatten everything else, and say how far it goes."""
    names = ("grad_norm2", "bound_sharp", "bound_printed")
    curves = {name: columns[name][rows].astype(float) for name in names}
    largest = {name: float(np.nanmax(values)) for name, values in curves.items() if np.isfinite(values).any()}
    rest = max((value for name, value in largest.items() if name != "bound_printed"), default=0.0)
    if 0 < ROOM * rest < largest.get("bound_printed", 0.0):
        lowest = min(float(values[values > 0].min(initial=rest)) for values in curves.values())
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


def _band(panel: Any, panels: RunPanels, rows: Any, tint: str) -> None:
    """The interval of the predicted accuracy, its ends as means over seeds."""
    seeds = panels.by_seed(rows)
    tests = min((int(seed.sum()) for seed in seeds), default=0)
    if tests:
        x, low, high = (
            np.mean([panels.columns[name][seed][:tests].astype(float) for seed in seeds], axis=0)
            for name in ("aggregation", *BAND)
        )
        panel.fill_between(x, low, high, color=tint, alpha=0.15, linewidth=0)


def _curve(panel: Any, panels: RunPanels, rows: Any, name: str, style: dict[str, Any]) -> None:
    """The mean over seeds of a column, where every seed has it; a logarithmic axis has no place for values <= 0."""
    seeds = panels.by_seed(rows)
    tests = min((int(seed.sum()) for seed in seeds), default=0)
    if not tests:
        return
    columns = panels.columns
    x = np.mean([columns["aggregation"][seed][:tests] for seed in seeds], axis=0)
    y = np.mean([columns[name][seed][:tests].astype(float) for seed in seeds], axis=0)
    shown = np.isfinite(y) & ((y > 0) | (name == "loss"))
    if shown.any():
        panel.plot(x[shown], y[shown], markevery=mark_every(tests), **style)
