"""A sweep as a picture: accuracy and loss against energy, and the points that no other one beats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dmafl.experiments.sweep.point import shown
from dmafl.experiments.sweep.summary import Group, front, groups
from dmafl.reports.figures.palette import LOOKS, MARKS, colour, look, places_of
from dmafl.reports.figures.saving import label, new_figure
from dmafl.reports.figures.sweep_points import error_bars, has, having, is_wide, means, of_task

FRONT: dict[str, Any] = {"color": "#999999", "linewidth": 3, "alpha": 0.5}


class Quantity(NamedTuple):
    """What a column of panels shows."""

    reached: str
    predicted: str
    """What was predicted of it; nothing if there are no predictions."""
    name: str
    sign: float
    """1 if less is better, -1 if more is."""

    def main(self, points: Sequence[Group]) -> str:
        """What was reached, or where nothing was, what was predicted."""
        return self.reached if has(points, self.reached) else self.predicted

    def is_in(self, points: Sequence[Group]) -> bool:
        """Whether there is anything to show."""
        return has(points, self.reached) or bool(self.predicted and has(points, self.predicted))


QUANTITIES = (
    Quantity("loss", "predicted_loss", "loss", 1.0),
    Quantity("accuracy", "", "test accuracy", -1.0),
)


def pareto_figure(table: Any, keys: Sequence[str]) -> Any:
    """Accuracy and loss against energy, one row per task; a curve for every combination of the keys after the first.

    Filled marks are reached, hollow ones predicted. The grey line joins the points that no other one beats.
    """
    points = groups(table, keys)
    tasks = list(dict.fromkeys(point.task for point in points))
    series = list(dict.fromkeys(point.settings[1:] for point in points))
    quantities = [quantity for quantity in QUANTITIES if quantity.is_in(points)]
    figure = new_figure(1 + 5.5 * max(1, len(quantities)), 1 + 3.4 * max(1, len(tasks)))
    panels = figure.subplots(max(1, len(tasks)), max(1, len(quantities)), squeeze=False)
    for row, task in enumerate(tasks):
        for column, quantity in enumerate(quantities):
            panel = panels[row][column]
            _panel(panel, of_task(points, task), quantity, series)
            panel.set_ylabel(f"{label(task)}\n{quantity.name}" if column == 0 else quantity.name)
            panel.set_xlabel("energy [J]" if row == len(tasks) - 1 else "")
    lines = _kinds_of_lines(points)
    figure.legend(
        handles=lines,
        loc="outside upper center",
        ncols=len(lines),
        frameon=False,
        title=f"beside each point: its {label(keys[0])}",
    )
    if len(series) > 1:
        handles, labels = panels[0][0].get_legend_handles_labels()
        title = label(", ".join(keys[1:]))
        figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, title=title)
    return figure


def _panel(
    panel: Any, points: Sequence[Group], quantity: Quantity, series: Sequence[tuple[Any, ...]]
) -> None:
    """The points of one task: front, curves, and what was set at each point."""
    column = quantity.main(points)
    _front(panel, having(points, column), column, quantity.sign)
    for place, settings in zip(_places(series), series, strict=True):
        of_series = [point for point in points if point.settings[1:] == settings]
        _curve(panel, of_series, quantity, place, label(", ".join(map(shown, settings))))
    _name_points(panel, having(points, column), column)
    if is_wide(means(points, "energy_J")):
        panel.set_xscale("log")
    panel.grid(alpha=0.3)


def _places(series: Sequence[tuple[Any, ...]]) -> Sequence[int]:
    """Places of colours: a scheme has its own, other settings have those from the first on."""
    names = [str(settings[0]) if len(settings) == 1 else "" for settings in series]
    return places_of(names) if names and all(name in LOOKS for name in names) else range(len(series))


def _curve(panel: Any, points: Sequence[Group], quantity: Quantity, place: int, series: str) -> None:
    """What was reached and what was predicted; the first of them that is there names the series in the legend."""
    for column, line, face in (
        (quantity.reached, "-", colour(place)),
        (quantity.predicted, ":", "white"),
    ):
        drawn = having(points, column) if column else []
        if drawn:
            x, y = ([point.values[name] for point in drawn] for name in ("energy_J", column))
            style = {"linestyle": line, "markerfacecolor": face, "elinewidth": 0.8, **look(place, 5)}
            error_bars(panel, x, y, label=series or None, **style)
            series = ""


def _kinds_of_lines(points: Sequence[Group]) -> list[Any]:
    """What the kinds of marks and lines mean."""
    from matplotlib.lines import Line2D

    grey: dict[str, Any] = {"color": "#444444", "marker": MARKS[0], "markersize": 5}
    kinds = (
        (has(points, "loss"), Line2D([], [], linestyle="-", label="reached", **grey)),
        (
            has(points, "predicted_loss"),
            Line2D([], [], linestyle=":", markerfacecolor="white", label="predicted", **grey),
        ),
        (True, Line2D([], [], label="no point is better in both", **FRONT)),
    )
    return [handle for there, handle in kinds if there]


def _front(panel: Any, points: Sequence[Group], column: str, sign: float) -> None:
    energy_J, value = (np.asarray(means(points, name)) for name in ("energy_J", column))
    best = front(energy_J, sign * value)
    panel.step(energy_J[best], value[best], where="post", zorder=0, **FRONT)


def _name_points(panel: Any, points: Sequence[Group], column: str) -> None:
    """Write the first setting beside each point; points at the same place share a label."""
    names: dict[tuple[str, str], list[str]] = {}
    places: dict[tuple[str, str], tuple[float, float]] = {}
    for point in points:
        at = point.values["energy_J"].mean, point.values[column].mean
        place = f"{at[0]:.3g}", f"{at[1]:.3g}"
        places[place] = at
        names.setdefault(place, []).append(shown(point.settings[0]))
    for place, at in places.items():
        text = label(", ".join(dict.fromkeys(names[place])))
        panel.annotate(text, at, (4, 4), textcoords="offset points", fontsize="x-small")
