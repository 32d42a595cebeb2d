"""The figure of energy ratios: what every scheme needs to the highest targets, times what dma-fl needs."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf, isnan
from typing import Any

from dmafl.experiments.reproduction.design import TASKS
from dmafl.experiments.reproduction.names import PARTITION_NAMES
from dmafl.experiments.reproduction.study_outcomes import StudyOutcomes
from dmafl.experiments.reproduction.targets import REFERENCE, Ratio, ratios
from dmafl.reports.figures.study_style import GREY, STYLES, few_ticks, finish, panels

HIGHEST = 1.0
"""The highest target, as a share of the accuracy that it is taken from."""
ROW_INCHES = 0.17
OPEN = 3.0
"""An interval without an end is drawn up to this many times the mean, with an arrow."""


def ratios_figure(outcomes: StudyOutcomes) -> Any:
    """One panel per task; rows are schemes, by partition. Hollow marks: guessing reaches the target."""
    highest = [ratio for ratio in ratios(outcomes) if ratio.share == HIGHEST]
    names = list(dict.fromkeys((ratio.partition, ratio.scheme) for ratio in highest))
    rows = _places(names)
    title = f"Energy to the highest target, times that of {REFERENCE}; preset {outcomes.study.preset}"
    figure, axes = panels(title, height=(len(rows) + 3) * ROW_INCHES)
    for panel, task in zip(axes[0], TASKS, strict=True):
        for ratio in highest:
            if ratio.task == task:
                _draw(panel, ratio, rows[ratio.partition, ratio.scheme])
        if panel.has_data():
            _dress(panel, rows)
    finish(figure, axes)
    return figure


def _places(names: Sequence[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """The height of every partition and scheme, from above, with room for the name of each partition."""
    rows: dict[tuple[str, str], float] = {}
    at, before = 0.0, None
    for partition, scheme in names:
        if partition != before:
            rows[partition, ""] = at
            at, before = at - 1, partition
        rows[partition, scheme] = at
        at -= 1
    return rows


def _draw(panel: Any, ratio: Ratio, at: float) -> None:
    style = STYLES[ratio.scheme]
    mean = exp(ratio.raw.effect.mean)
    hollow = {"markerfacecolor": "none"} if ratio.guessed else {}
    low, high = ratio.raw.ends
    if not isnan(low):
        right = mean * OPEN if high == inf else exp(high)
        panel.plot(
            [exp(low) if low > -inf else mean / OPEN, right], [at, at], color=style["color"], linewidth=1.2
        )
        if high == inf:
            panel.plot([right], [at], color=style["color"], marker=">", markersize=4)
    panel.plot([mean], [at], linestyle="", markersize=5, **style, **hollow)


def _dress(panel: Any, rows: dict[tuple[str, str], float]) -> None:
    """Names of the rows, and the line at which a scheme needs as much as dma-fl."""
    panel.axvline(1.0, color=GREY, linewidth=1.0, zorder=1)
    panel.set_xscale("log")
    few_ticks(panel.xaxis)
    panel.set_yticks(
        list(rows.values()), [scheme or PARTITION_NAMES[partition] for partition, scheme in rows]
    )
    for label, (_, scheme) in zip(panel.get_yticklabels(), rows, strict=True):
        label.set_fontsize(8)
        label.set_fontweight("normal" if scheme else "bold")
    panel.tick_params(axis="y", length=0)
    panel.grid(visible=False, axis="y")
    panel.set_xlabel(f"times the energy of {REFERENCE}")
