"""Figures of how plans respond: to the importance of a task (Figs. 7 and 8) and to its drift (Figs. 9 and 10)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dmafl.experiments.reproduction.bands import Band, over_aggregations, over_values
from dmafl.experiments.reproduction.design import DRIFT_UNIT, DRIFTS, TASKS
from dmafl.experiments.reproduction.names import TASK_NAMES
from dmafl.experiments.reproduction.outcome import Outcome
from dmafl.experiments.reproduction.response_claims import (
    LEAST_S,
    drift_sweep,
    importance_sweep,
    steps_share,
    trained_importances,
)
from dmafl.experiments.reproduction.study_outcomes import StudyOutcomes
from dmafl.reports.figures.palette import COLOURS, MARKS
from dmafl.reports.figures.study_style import (
    TASK_STYLES,
    draw,
    few_ticks,
    finish,
    panels,
    titled,
)


def responses(outcomes: StudyOutcomes) -> Iterator[tuple[str, Any]]:
    """Name and figure, one after the other."""
    yield "fig07-importance", _importance(outcomes)
    yield "fig08-shares", _shares(outcomes)
    yield "fig09-active-drift", _drift(outcomes, "active drift", "compute_s", "computation time")
    yield "fig10-idle-drift", _drift(outcomes, "idle drift", "idle_s", "idle time")


def _importance(outcomes: StudyOutcomes) -> Any:
    """Fig. 7: accuracy and energy of a task, by its own importance."""
    figure, axes = panels(titled(outcomes, "Importance of a task, the others at 1"), rows=2)
    for column, task in enumerate(TASKS):
        for place, (value, by_seed) in enumerate(trained_importances(outcomes, task).items()):
            style = {"color": COLOURS[place], "marker": MARKS[place]}
            for row, quantity in enumerate(("accuracy", "energy_J")):
                draw(
                    axes[row][column],
                    over_aggregations(by_seed, quantity),
                    f"importance {value:g}",
                    style,
                    2 * place,
                )
        axes[1][column].set_xlabel("aggregations")
    axes[0][0].set_ylabel("test accuracy")
    axes[1][0].set_ylabel("energy so far [J]")
    finish(figure, axes)
    return figure


def _shares(outcomes: StudyOutcomes) -> Any:
    """Fig. 8: the part of all SGD steps that each task gets, by the importance of one."""
    figure, axes = panels(
        titled(outcomes, "Share of SGD steps, by the importance of one task"), heading="{} emphasised"
    )
    for panel, raised in zip(axes[0], TASKS, strict=True):
        sweep = importance_sweep(outcomes, raised)
        for place, task in enumerate(TASKS):
            numbers = [
                [100 * steps_share(outcome, task) for outcome in by_seed.values()]
                for by_seed in sweep.values()
            ]
            draw(panel, over_values(list(sweep), numbers), TASK_NAMES[task], TASK_STYLES[task], place)
        panel.set_xlabel(f"importance of {TASK_NAMES[raised]}")
        if panel.has_data():
            panel.set_xscale("log")
            panel.set_ylim(bottom=0)
    axes[0][0].set_ylabel("share of SGD steps [%]")
    finish(figure, axes)
    return figure


def _drift(outcomes: StudyOutcomes, quantity: str, total: str, name: str) -> Any:
    """Figs. 9 and 10: a time of each task relative to that without drift, by the drift of one."""
    figure, axes = panels(
        titled(outcomes, f"{name.capitalize()}, by the {quantity} of one task"), heading="{} drifts"
    )
    for panel, drifting in zip(axes[0], TASKS, strict=True):
        sweep = drift_sweep(outcomes, drifting, quantity)
        for place, task in enumerate(TASKS):
            draw(panel, relative_times(sweep, task, total), TASK_NAMES[task], TASK_STYLES[task], place)
        panel.set_xlabel(f"{quantity} of {TASK_NAMES[drifting]} [1/s]")
        if panel.has_data():
            panel.set_yscale("log")
            few_ticks(panel.yaxis)
            panel.axhline(1.0, color="#444444", linestyle=":", linewidth=0.8, zorder=1)
            panel.set_xticks(range(len(DRIFTS)), [_tick(value * DRIFT_UNIT[drifting]) for value in DRIFTS])
    axes[0][0].set_ylabel(f"{name}, relative to no drift")
    finish(figure, axes)
    return figure


def _tick(value: float) -> str:
    return f"{value:.0e}".replace("e-0", "e-") if value else "0"


def relative_times(sweep: Mapping[float, Mapping[int, Outcome]], task: str, total: str) -> Band:
    """Geometric mean and interval over seeds of a time against that of the same seed without drift."""
    logs = [
        {
            seed: np.log(max(outcome.tasks[task].totals[total], LEAST_S))
            for seed, outcome in sweep[value].items()
        }
        for value in DRIFTS
    ]
    numbers = [[by_seed[seed] - logs[0][seed] for seed in by_seed if seed in logs[0]] for by_seed in logs]
    band = over_values(range(len(DRIFTS)), numbers)
    return Band(band.x, np.exp(band.mean), np.exp(band.low), np.exp(band.high))
