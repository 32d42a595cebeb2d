"""The trace of successive convex approximation as a picture: objective, violation and penalty against iterations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dmafl.reports.figures.saving import new_figure, save_figure

if TYPE_CHECKING:
    from dmafl.planning.sca.iterations import Iteration

COLOURS = {"objective": "#0072b2", "penalised": "#e69f00", "violation": "#d55e00", "undecided": "#009e73"}
"""Okabe-Ito: told apart with every kind of colour vision."""
SMALLEST = 1e-12
"""Violations below this are drawn here: they are rounding."""


def draw_trace(trace: Sequence[Iteration], path: str | Path, *, final: float | None = None) -> None:
    """Write a PNG, SVG or PDF with one panel each for objective, violation and penalty; stages are shaded.

    `final` is the objective of the schedule that was made of the last point.
    """
    figure = new_figure(9, 7)
    top, middle, bottom = figure.subplots(3, 1, sharex=True)
    number = np.arange(len(trace))
    _line(top, number, trace, "objective", "objective")
    _line(top, number, trace, "penalised", "with penalties")
    if final is not None:
        top.axhline(final, color="black", linestyle="--", linewidth=1, label="schedule")
    top.set_ylabel("objective")
    _line(middle, number, trace, "violation", "violation")
    _line(middle, number, trace, "undecided", "sum x (1 - x)")
    middle.set_yscale("log")
    middle.set_ylabel("violation")
    bottom.step(
        number, [iteration.penalty for iteration in trace], where="post", color="#0072b2", label="penalty mu"
    )
    bottom.plot(
        number, [iteration.kkt_residual for iteration in trace], color="#cc79a7", label="KKT residual"
    )
    bottom.set_yscale("symlog", linthresh=1e-5)
    bottom.set_ylabel("penalty, residual")
    bottom.set_xlabel("iteration")
    for panel in (top, middle, bottom):
        _stages(panel, trace)
        panel.legend(frameon=False, fontsize=8, loc="best")
    save_figure(figure, path, dpi=130)


def _line(panel: Any, number: Any, trace: Sequence[Iteration], name: str, label: str) -> None:
    values = np.maximum([getattr(iteration, name) for iteration in trace], SMALLEST)
    panel.plot(number, values, color=COLOURS[name], marker=".", markersize=3, linewidth=1, label=label)


def _stages(panel: Any, trace: Sequence[Iteration]) -> None:
    """Shade every other stage."""
    stages = np.asarray([iteration.stage for iteration in trace])
    for stage in np.unique(stages)[1::2]:
        inside = np.flatnonzero(stages == stage)
        panel.axvspan(inside[0] - 0.5, inside[-1] + 0.5, color="#f0f0f0", zorder=0)
