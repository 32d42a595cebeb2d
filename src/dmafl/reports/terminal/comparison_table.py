"""Two runs side by side, as tables."""

from __future__ import annotations

from math import isfinite, isnan

from rich.console import Console
from rich.table import Table

from dmafl.base.statistics import Interval
from dmafl.experiments.compare.compare import Comparison
from dmafl.experiments.compare.effects import Effect
from dmafl.reports.terminal.console import table

MARK = "*"


def print_comparison(out: Console, comparison: Comparison) -> None:
    """What was run differently, then what came out differently."""
    out.print(f"First:  {comparison.first.path}")
    out.print(f"Second: {comparison.second.path}")
    if comparison.differences:
        out.print(differences_table(comparison))
    else:
        out.print("Scenario, versions, data, schemes and seeds are the same.")
    if comparison.note:
        out.print(comparison.note)
        return
    out.print(effects_table(comparison))
    for line in _legend(comparison.effects):
        out.print(line)


def differences_table(comparison: Comparison) -> Table:
    """A row for everything that is not the same in both."""
    rows = table("What was run differently", "kind", "key", "first", "second")
    for column in rows.columns:
        column.justify = "left"
    for difference in comparison.differences:
        rows.add_row(difference.kind, difference.key, difference.first, difference.second)
    return rows


def effects_table(comparison: Comparison) -> Table:
    """One row per task and scheme: second minus first, and the ratio of energies."""
    rows = table(
        "What came out differently: second minus first, ± half of the 95% t-interval",
        "task",
        "scheme",
        "seeds",
        "accuracy, mean over aggregations",
        "final accuracy",
        "energy to the same accuracy, second / first",
        "that accuracy",
    )
    rows.columns[1].justify = "left"
    for effect in comparison.effects:
        name = effect.first if effect.first == effect.second else f"{effect.second} against {effect.first}"
        seeds = str(effect.pairs) if effect.pairs else "none in common"
        rows.add_row(
            effect.task,
            name,
            seeds,
            _difference(effect.mean_accuracy),
            _difference(effect.final_accuracy),
            _ratio(effect),
            f"{effect.target:.3f}" + (f" ({effect.not_reached} not)" if effect.not_reached else ""),
        )
    return rows


def _difference(difference: Interval) -> str:
    width = "" if isnan(difference.half) else f" ± {difference.half:.4f}"
    return f"{difference.mean:+.4f}{width}{_mark(difference)}"


def _ratio(effect: Effect) -> str:
    mean, low, high = effect.energy_ratio
    if not isfinite(mean):
        return "-"
    ends = "" if isnan(low) else f" ({low:.3f} to {high:.3f})"
    return f"{mean:.3f}{ends}{_mark(effect.log_energy_ratio)}"


def _mark(difference: Interval) -> str:
    return f" {MARK}" if difference.excludes_zero else ""


def _legend(effects: tuple[Effect, ...]) -> list[str]:
    lines = [f"{MARK} a difference of 0, or a ratio of 1, lies outside the interval."]
    if any(isnan(effect.final_accuracy.half) for effect in effects):
        lines.append("One seed has no interval: run more seeds to tell a difference from chance.")
    if any(effect.pairs == 0 for effect in effects):
        lines.append("Runs without common seeds are compared by their means, which is less sharp.")
    if any(isnan(effect.log_energy_ratio.mean) for effect in effects):
        lines.append("- the first model has this accuracy already: it costs nothing.")
    if any(effect.not_reached for effect in effects):
        lines.append("(n not) n runs never reach it, and count with all of their energy.")
    return lines
