"""How the figures of a study look: a scheme has the same colour and mark in all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmafl.experiments.reproduction.bands import Band
from dmafl.experiments.reproduction.design import TASKS
from dmafl.experiments.reproduction.names import PARTITION_NAMES, TASK_NAMES
from dmafl.experiments.reproduction.study_outcomes import StudyOutcomes
from dmafl.reports.figures.palette import LOOKS, MARKS
from dmafl.reports.figures.saving import new_figure

GREY = "#767676"
SCHEMES = tuple(scheme for scheme in LOOKS if scheme != "scheduled")
STYLES = {scheme: {"color": LOOKS[scheme].light, "marker": LOOKS[scheme].mark} for scheme in SCHEMES}
TASK_COLOURS = ("#997700", "#994455", "#6699cc")
"""Tol's medium contrast: not those of schemes, and told apart with every kind of colour vision."""
TASK_STYLES = {
    task: {"color": colour, "marker": mark}
    for task, colour, mark in zip(TASKS, TASK_COLOURS, MARKS, strict=False)
}
VARIANT_COLOURS = ("#882255", "#44aa99", "#bbaa22", STYLES["dma-fl"]["color"])
"""Of what plans are made with; the last is `dma-fl` itself."""
VARIANT_STYLES = [
    {"color": colour, "marker": mark}
    for colour, mark in zip(VARIANT_COLOURS, ("s", "^", "D", "o"), strict=True)
]
MARKS_ON_A_CURVE = 9
IN_ONE_ROW = 6
"""Entries of a legend that fit side by side."""
FEW = 100.0
"""Factor up to which an axis of energy has ticks between powers of ten."""


def titled(outcomes: StudyOutcomes, text: str, partition: str | None = None) -> str:
    """What a figure shows, and of which study; sweeps and ablation have the study's main partition."""
    study = outcomes.study
    return f"{text}; {PARTITION_NAMES[partition or study.main_partition]}, preset {study.preset}"


def panels(title: str, rows: int = 1, heading: str = "{}", height: float = 3.1) -> tuple[Any, Any]:
    """A figure with one column per task, and its axes (rows, tasks); `height` is that of a row [inch]."""
    figure = new_figure(12.5, 1.1 + height * rows)
    figure.suptitle(title, fontsize=12)
    axes = figure.subplots(rows, len(TASKS), squeeze=False)
    for panel in axes.flat:
        panel.grid(alpha=0.25, linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)
    for panel, task in zip(axes[0], TASKS, strict=True):
        panel.set_title(heading.format(TASK_NAMES[task]), fontsize=11)
    return figure, axes


def draw(panel: Any, band: Band | None, label: str, style: dict[str, Any], place: int = 0) -> None:
    """A mean with its interval as a band. `place` shifts the marks, so that curves which meet can be told apart."""
    if band is None or not len(band.x):
        return
    every = max(1, len(band.x) // MARKS_ON_A_CURVE)
    shown = (min(place * every // len(SCHEMES), len(band.x) - 1), every)
    ours = label == "dma-fl"
    line = {"linewidth": 2.2 if ours else 1.4, "markersize": 5.5 if ours else 4.5, "zorder": 4 if ours else 3}
    panel.plot(band.x, band.mean, label=label, markevery=shown, **line, **style)
    if np.isfinite(band.low).any():
        panel.fill_between(band.x, band.low, band.high, color=style["color"], alpha=0.15, linewidth=0)


def energy_axis(panel: Any) -> None:
    """A logarithmic axis of energy; over few decades it has more ticks."""
    from matplotlib.ticker import NullFormatter

    panel.set_xscale("log")
    low, high = panel.get_xlim()
    if high / low < FEW:
        few_ticks(panel.xaxis)
    panel.xaxis.set_minor_formatter(NullFormatter())


def few_ticks(axis: Any) -> None:
    """Ticks at 1, 2 and 5 of every decade, as plain numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def finish(figure: Any, axes: Any) -> None:
    """Say `not run` where there is nothing, and what the colours stand for."""
    labels: dict[str, Any] = {}
    for panel in axes.flat:
        if not panel.has_data():
            panel.text(0.5, 0.5, "not run", transform=panel.transAxes, ha="center", va="center", color=GREY)
            panel.set_xticks([])
            panel.set_yticks([])
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            labels.setdefault(label, handle)
    # Lines that are no curves come last.
    labels = dict(sorted(labels.items(), key=lambda entry: entry[1].get_linestyle() == ":"))
    if labels:
        figure.legend(
            labels.values(),
            labels.keys(),
            loc="outside lower center",
            ncols=len(labels) if len(labels) <= IN_ONE_ROW else (len(labels) + 1) // 2,
            frameon=False,
        )
