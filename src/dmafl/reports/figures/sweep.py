"""A sweep as pictures: quality against energy, and what follows from every key that was varied."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from dmafl.base.statistics import Interval
from dmafl.experiments.sweep.point import shown
from dmafl.experiments.sweep.summary import Group, front, groups
from dmafl.reports.figures.run import COLOURS, MARKS
from dmafl.reports.figures.saving import label, new_figure, save_figure

RESPONSES = (
    ("loss", "loss reached"),
    ("predicted_loss", "predicted loss"),
    ("accuracy", "test accuracy"),
    ("energy_J", "energy [J]"),
    ("steps_share", "share of SGD steps"),
    ("compute_s", "computing [s]"),
    ("idle_s", "idle [s]"),
    ("devices", "devices used"),
    ("staleness", "mean staleness"),
)
ACROSS = 3
"""Panels of responses side by side."""
WIDE_RANGE = 20.0
"""Values that differ by more than this factor get a logarithmic axis."""
FRONT: dict[str, Any] = {"color": "#999999", "linewidth": 3, "alpha": 0.5}
QUALITIES = (("loss", "predicted_loss", "loss"), ("accuracy", "", "test accuracy"))
"""Of each column of panels: what is reached, what was predicted of it, and its label."""


def draw_pareto(table: Any, keys: Sequence[str], path: str | Path) -> None:
    """Quality against energy, a row a task; a curve for every combination of the keys after the first.

    Filled marks are reached, hollow ones predicted. The grey line joins the points that no other one beats.
    """
    found = groups(table, keys)
    tasks = list(dict.fromkeys(one.task for one in found))
    series = list(dict.fromkeys(one.settings[1:] for one in found))
    columns = [one for one in QUALITIES if _any(found, one[0]) or (one[1] and _any(found, one[1]))]
    figure = new_figure(1 + 5.5 * max(1, len(columns)), 1 + 3.4 * max(1, len(tasks)))
    panels = figure.subplots(max(1, len(tasks)), max(1, len(columns)), squeeze=False)
    for row, task in enumerate(tasks):
        for column, (reached, predicted, quantity) in enumerate(columns):
            panel, own = panels[row][column], [one for one in found if one.task == task]
            shown_as = reached if _any(own, reached) else predicted
            _front(panel, own, shown_as, -1.0 if reached == "accuracy" else 1.0)
            for k, name in enumerate(series):
                part = [one for one in own if one.settings[1:] == name]
                _curve(panel, part, reached, predicted, k, label(", ".join(map(shown, name))))
            _name_points(panel, own, shown_as)
            panel.set_ylabel(f"{label(task)}\n{quantity}" if column == 0 else quantity)
            panel.set_xlabel("energy [J]" if row == len(tasks) - 1 else "")
            if _wide([one.values["energy_J"].mean for one in own]):
                panel.set_xscale("log")
            panel.grid(alpha=0.3)
    keys_of_lines = _keys_of_lines(found)
    figure.legend(
        handles=keys_of_lines,
        loc="outside upper center",
        ncols=len(keys_of_lines),
        frameon=False,
        title=f"beside each point: its {label(keys[0])}",
    )
    if len(series) > 1:
        handles, labels = panels[0][0].get_legend_handles_labels()
        title = label(", ".join(keys[1:]))
        figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, title=title)
    save_figure(figure, path)


def draw_responses(table: Any, keys: Sequence[str], path: str | Path) -> None:
    """What follows from each key: a block of panels a key, a line a task, with the interval over seeds.

    Where several keys were varied, values are means over the others.
    """
    whole = groups(table, keys)
    there = [one for one in RESPONSES if _any(whole, one[0])]
    lines = -(-len(there) // ACROSS)
    figure = new_figure(4.2 * ACROSS, 0.6 + 2.6 * lines * len(keys))
    panels = figure.subplots(max(1, lines * len(keys)), ACROSS, squeeze=False)
    for block, key in enumerate(keys):
        found = groups(table, [key])
        for number in range(lines * ACROSS):
            panel = panels[block * lines + number // ACROSS][number % ACROSS]
            if number >= len(there):
                panel.set_axis_off()
                continue
            _response(panel, found, *there[number])
            panel.set_xlabel(label(key), fontsize="small")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=max(1, len(labels)), frameon=False)
    save_figure(figure, path)


def _curve(panel: Any, own: Sequence[Group], reached: str, predicted: str, k: int, series: str) -> None:
    style: dict[str, Any] = {
        "color": COLOURS[k % len(COLOURS)],
        "marker": MARKS[k % len(MARKS)],
        "markersize": 5,
    }
    for name, line, hollow in ((reached, "-", False), (predicted, ":", True)):
        points = [one for one in own if name and one.values[name].n]
        if not points:
            continue
        x, y = ([one.values[column] for one in points] for column in ("energy_J", name))
        panel.errorbar(
            [one.mean for one in x],
            [one.mean for one in y],
            xerr=_halves(x),
            yerr=_halves(y),
            linestyle=line,
            markerfacecolor="white" if hollow else style["color"],
            elinewidth=0.8,
            label=series or None,
            **style,
        )
        series = ""


def _keys_of_lines(found: Sequence[Group]) -> list[Any]:
    """What the kinds of marks and lines mean."""
    from matplotlib.lines import Line2D

    grey: dict[str, Any] = {"color": "#444444", "marker": MARKS[0], "markersize": 5}
    kinds = (
        (_any(found, "loss"), Line2D([], [], linestyle="-", label="reached", **grey)),
        (
            _any(found, "predicted_loss"),
            Line2D([], [], linestyle=":", markerfacecolor="white", label="predicted", **grey),
        ),
        (True, Line2D([], [], label="no point is better in both", **FRONT)),
    )
    return [handle for there, handle in kinds if there]


def _front(panel: Any, own: Sequence[Group], name: str, sign: float) -> None:
    points = [one for one in own if one.values[name].n]
    energy = np.asarray([one.values["energy_J"].mean for one in points])
    value = np.asarray([one.values[name].mean for one in points])
    best = front(energy, sign * value)
    panel.step(energy[best], value[best], where="post", zorder=0, **FRONT)


def _name_points(panel: Any, own: Sequence[Group], name: str) -> None:
    """Write the first setting beside each point; points at the same place share a label."""
    names: dict[tuple[str, str], list[str]] = {}
    places: dict[tuple[str, str], tuple[float, float]] = {}
    for one in own:
        if one.values[name].n:
            at = one.values["energy_J"].mean, one.values[name].mean
            place = f"{at[0]:.3g}", f"{at[1]:.3g}"
            places[place] = at
            names.setdefault(place, []).append(shown(one.settings[0]))
    for place, at in places.items():
        text = label(", ".join(dict.fromkeys(names[place])))
        panel.annotate(text, at, (4, 4), textcoords="offset points", fontsize="x-small")


def _response(panel: Any, found: Sequence[Group], name: str, quantity: str) -> None:
    choices = list(dict.fromkeys(one.settings[0] for one in found))
    numeric = all(isinstance(one, float) for one in choices)
    drawn = []
    for k, task in enumerate(dict.fromkeys(one.task for one in found)):
        own = [one for one in found if one.task == task and one.values[name].n]
        if numeric:
            own = sorted(own, key=lambda one: one.settings[0])
        x = [one.settings[0] if numeric else choices.index(one.settings[0]) for one in own]
        y = [one.values[name] for one in own]
        drawn += [one.mean for one in y]
        colour, mark = COLOURS[k % len(COLOURS)], MARKS[k % len(MARKS)]
        panel.errorbar(
            x,
            [one.mean for one in y],
            yerr=_halves(y),
            color=colour,
            marker=mark,
            markersize=4.5,
            label=label(task),
        )
    if numeric and _wide(choices):
        panel.set_xscale("log")
    elif not numeric:
        panel.set_xticks(range(len(choices)), [label(str(one)) for one in choices])
    if _wide(drawn):
        panel.set_yscale("log")
    panel.set_ylabel(quantity)
    panel.grid(alpha=0.3)


def _any(found: Sequence[Group], name: str) -> bool:
    return any(one.values[name].n for one in found)


def _wide(values: Sequence[float]) -> bool:
    return bool(values) and min(values) > 0 and max(values) / min(values) > WIDE_RANGE


def _halves(values: Sequence[Interval]) -> list[float] | None:
    """Half widths, or nothing where no point has any."""
    halves = [one.half if isfinite(one.half) else 0.0 for one in values]
    return halves if any(halves) else None
