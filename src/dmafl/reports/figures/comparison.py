"""A comparison as a picture: what the second run or scheme has more than the first, with 95% intervals."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Any

from dmafl.experiments.compare.compare import Comparison
from dmafl.experiments.compare.effects import Effect
from dmafl.reports.figures.axes import logarithmic
from dmafl.reports.figures.palette import look, places_of
from dmafl.reports.figures.saving import label, new_figure

NOTHING = "#999999"
"""The line of no difference."""


def comparison_figure(comparison: Comparison) -> Any:
    """One row per task and pair of schemes: accuracy at the end, and energy to the same accuracy as a factor."""
    effects = comparison.effects
    schemes = list(dict.fromkeys(each.second for each in effects))
    looks = {scheme: look(place, 6) for scheme, place in zip(schemes, places_of(schemes), strict=True)}
    figure = new_figure(10, 1.6 + 0.5 * max(1, len(effects)))
    accuracy, energy = figure.subplots(1, 2, sharey=True)
    for row, each in enumerate(effects):
        accurate = each.final_accuracy
        _interval(accuracy, row, (accurate.mean, accurate.low, accurate.high), looks[each.second])
        _interval(energy, row, each.energy_ratio, looks[each.second])
    _rows(accuracy, effects)
    accuracy.axvline(0.0, color=NOTHING, linestyle="--", linewidth=1)
    accuracy.set_xlabel("accuracy at the end, second less first")
    energy.axvline(1.0, color=NOTHING, linestyle="--", linewidth=1)
    energy.set_xlabel("energy to the same accuracy, second / first")
    if any(not isnan(each.energy_ratio[0]) for each in effects):
        logarithmic(energy)
    if comparison.note:
        figure.suptitle(label(comparison.note), fontsize="small")
    return figure


def _interval(panel: Any, row: int, ends: tuple[float, float, float], of: dict[str, Any]) -> None:
    """The mean, and a bar from the lower to the upper end where more than one seed gives an interval."""
    mean, low, high = ends
    if isnan(mean):
        return
    error = None if isnan(low) else [[mean - low], [high - mean]]
    panel.errorbar([mean], [row], xerr=error, linestyle="", capsize=4, **of)


def _rows(panel: Any, effects: Sequence[Effect]) -> None:
    """Names of tasks and schemes, from the top."""
    names = [f"{label(each.task)}\n{label(each.second)} against {label(each.first)}" for each in effects]
    panel.set_yticks(range(len(effects)), names, fontsize="small")
    panel.set_ylim(max(1, len(effects)) - 0.5, -0.5)
    for each in panel.figure.axes:
        each.grid(alpha=0.3, axis="x")
