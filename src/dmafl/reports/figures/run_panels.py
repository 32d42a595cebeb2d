"""Panels for the metrics of a run: one row per task, one column per quantity, curves of every scheme."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dmafl.base.files import columns_of
from dmafl.reports.figures.palette import places_of
from dmafl.reports.figures.saving import new_figure

MARKS_ON_A_CURVE = 12


class RunPanels:
    """A figure with empty panels (tasks, quantities), and the metrics that are to be drawn into them."""

    def __init__(self, metrics: Any, across: int, width: float, extra_height: float, **shared: str) -> None:
        """Panels for the metrics table of a run; sizes are in inches."""
        self.columns = columns_of(metrics)
        self.tasks, self.schemes = (list(dict.fromkeys(self.columns[name])) for name in ("task", "scheme"))
        self.places = dict(zip(self.schemes, places_of(self.schemes), strict=True))
        rows = max(1, len(self.tasks))
        self.figure = new_figure(width, extra_height + 3 * rows)
        self.axes = self.figure.subplots(rows, across, squeeze=False, **shared)

    def rows(self, task: str, scheme: str) -> Any:
        """Which metrics are those of a task and scheme. Booleans (tests,)."""
        return (self.columns["task"] == task) & (self.columns["scheme"] == scheme)

    def by_seed(self, rows: Any) -> list[Any]:
        """Which of `rows` are those of each seed."""
        seeds = dict.fromkeys(self.columns["seed"][rows])
        return [rows & (self.columns["seed"] == seed) for seed in seeds]

    def each(self) -> Iterator[tuple[Any, str, int]]:
        """Every panel with its task and the place of its quantity, row by row."""
        for row, task in enumerate(self.tasks):
            for column, panel in enumerate(self.axes[row]):
                yield panel, task, column

    def label_x(self, panel: Any, task: str, text: str) -> None:
        """Name the x axis, in the last row only."""
        panel.set_xlabel(text if task == self.tasks[-1] else "")
        panel.grid(alpha=0.3)


def mark_every(tests: int) -> int:
    """How many tests lie between two marks of a curve."""
    return max(1, tests // MARKS_ON_A_CURVE)
