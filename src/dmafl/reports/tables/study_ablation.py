"""What each repair of the loss model buys, as a table."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite

from dmafl.base.statistics import Interval
from dmafl.experiments.reproduction.ablation import Ablation
from dmafl.reports.numbers import number
from dmafl.reports.tables.table import Cell, Column, Rule, Table, cell, plain

MEASURES = {
    "equal_energy_J": "Equal energy [J]",
    "accuracy_at_equal_energy": "Accuracy at equal energy",
    "final_accuracy": "Final accuracy",
    "energy_J": "Energy [J]",
    "equal_energy_difference": "Difference",
    "final_difference": "Difference",
    "log_energy_ratio": "Log ratio of energies",
    "devices": "Devices",
    "steps": "Steps a job",
    "samples": "Samples a job",
}
"""Measure of an `Ablation` -> title of its column. Both differences are against calibrated and gram."""
ACCURACIES = ("accuracy_at_equal_energy", "final_accuracy")
DIFFERENCES = ("equal_energy_difference", "final_difference", "log_energy_ratio")


def ablation_table(variants: Iterable[Ablation]) -> Table:
    """One row per task and variant: what a person compares."""
    return ablation_file_table(variants).only(
        "task",
        "plans",
        "accuracy_at_equal_energy",
        "equal_energy_difference",
        "final_accuracy",
        "final_difference",
        "energy_J",
        "devices",
        "steps",
        "samples",
        "seeds",
    )


def ablation_file_table(variants: Iterable[Ablation]) -> Table:
    """One row per task and variant: everything that was measured."""
    rules: list[Rule[Ablation]] = [
        plain("task", "Task", align="left"),
        (
            Column("plans", "Plans made with", "left", in_files=False),
            lambda variant: f"{variant.quality} + {variant.dissimilarity}",
        ),
        plain("quality", "Loss model"),
        plain("dissimilarity", "Dissimilarity"),
        *(_rule(measure, title) for measure, title in MEASURES.items()),
        plain("seeds", "Seeds", "final_accuracy.n"),
    ]
    return Table.of("What plans are made with", variants, rules)


def difference_text(difference: Interval) -> str:
    """A mean with the half width of its interval; nothing where there is no mean."""
    if not isfinite(difference.mean):
        return ""
    return f"{difference.mean:+.3f}" + (f" ± {difference.half:.3f}" if isfinite(difference.half) else "")


def _rule(measure: str, title: str) -> Rule[Ablation]:
    def make(variant: Ablation) -> Cell:
        value: Interval = getattr(variant, measure)
        if measure in DIFFERENCES:
            text = difference_text(value)
        else:
            text = f"{value.mean:.3f}" if measure in ACCURACIES else number(value.mean)
        return cell(value.mean, text, ends=(value.low, value.high))

    return Column(measure, title, interval=True), make
