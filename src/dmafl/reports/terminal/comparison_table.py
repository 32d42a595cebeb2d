"""Two runs side by side, as tables."""

from __future__ import annotations

from math import isfinite, isnan, nan

from dmafl.base.statistics import Interval
from dmafl.experiments.compare.compare import Comparison
from dmafl.experiments.compare.effects import Effect
from dmafl.reports.tables.table import Cell, Table, Value, cell
from dmafl.reports.terminal.console import Terminal

MARK = "*"
LARGE = 100.0
"""Ratios from here on are shown as whole numbers."""


def print_comparison(out: Terminal, comparison: Comparison) -> None:
    """What was run differently, then what came out differently."""
    if comparison.first is comparison.second:
        out.print(f"Run: {comparison.first.path}")
    else:
        _print_differences(out, comparison)
    if comparison.note:
        out.note(comparison.note)
        return
    out.print(effects_table(comparison))
    for line in _legend(comparison.effects):
        out.note(line)


def _print_differences(out: Terminal, comparison: Comparison) -> None:
    out.print(f"First:  {comparison.first.path}")
    out.print(f"Second: {comparison.second.path}")
    if comparison.differences:
        out.print(differences_table(comparison))
    else:
        out.note("Scenario, versions, data, schemes and seeds are the same.")


def differences_table(comparison: Comparison) -> Table:
    """A row for everything that is not the same in both."""
    columns = {"kind": "kind", "key": "key", "first": "first", "second": "second"}
    return Table.made(
        "differences",
        "What was run differently",
        columns,
        comparison.differences,
        left=["key", "first", "second"],
        spare=["kind"],
    )


def effects_table(comparison: Comparison) -> Table:
    """One row per task and scheme: second minus first, and the ratio of energies."""
    columns = {
        "task": "task",
        "scheme": "scheme",
        "first": "first",
        "second": "second",
        "seeds": "seeds",
        "mean_accuracy": "accuracy, mean over aggregations",
        "final_accuracy": "final accuracy",
        "energy_ratio": "energy to the same accuracy, second / first",
        "target": "that accuracy",
        "not_reached": "not reached",
        "at_chance": "at chance",
    }
    title = "What came out differently: second minus first, ± half of the 95% t-interval"
    names = {_names(effect) for effect in comparison.effects}
    alone = comparison.first is comparison.second and len(names) == 1
    if alone:
        title = f"{names.pop()}: the difference, ± half of the 95% t-interval"
    return Table.made(
        "effects",
        title,
        columns,
        map(_row, comparison.effects),
        left=["scheme", "at_chance"],
        intervals=["mean_accuracy", "final_accuracy", "energy_ratio"],
        only_in_files=["first", "second", "not_reached", "at_chance", *(["scheme"] if alone else [])],
    )


def _names(effect: Effect) -> str:
    return effect.first if effect.first == effect.second else f"{effect.second} against {effect.first}"


def _row(effect: Effect) -> tuple[Cell | Value, ...]:
    reached = f"{effect.target:.3f}" + (f" ({effect.not_reached} not)" if effect.not_reached else "")
    return (
        effect.task,
        _names(effect),
        effect.first,
        effect.second,
        cell(effect.pairs, str(effect.pairs) if effect.pairs else "none in common"),
        _difference(effect.mean_accuracy),
        _difference(effect.final_accuracy),
        _ratio(effect),
        cell(effect.target, reached),
        effect.not_reached,
        ", ".join(effect.at_chance),
    )


def _difference(difference: Interval) -> Cell:
    width = "" if isnan(difference.half) else f" ± {difference.half:.4f}"
    ends = (difference.low, difference.high)
    return cell(difference.mean, f"{difference.mean:+.4f}{width}{_mark(difference)}", ends=ends)


def _ratio(effect: Effect) -> Cell:
    mean, low, high = effect.energy_ratio
    if not isfinite(mean):
        return cell(None, "-", ends=(nan, nan))
    ends = "" if isnan(low) else f" ({_times(low)} to {_times(high)})"
    return cell(mean, f"{_times(mean)}{ends}{_mark(effect.log_energy_ratio)}", ends=(low, high))


def _times(ratio: float) -> str:
    return f"{ratio:.3f}" if ratio < LARGE else f"{ratio:,.0f}"


def _mark(difference: Interval) -> str:
    return f" {MARK}" if difference.excludes_zero else ""


def _legend(effects: tuple[Effect, ...]) -> list[str]:
    lines = [f"{MARK} a difference of 0, or a ratio of 1, lies outside the interval."]
    if any(isnan(effect.final_accuracy.half) for effect in effects):
        lines.append("One seed has no interval: run more seeds to tell a difference from chance.")
    if any(effect.pairs == 0 for effect in effects):
        lines.append("Runs without common seeds are compared by their means, which is less sharp.")
    at_chance = [f"{name} on {effect.task}" for effect in effects for name in effect.at_chance]
    if at_chance:
        lines.append(
            f"- no better than always naming the commonest class, so without a ratio: {', '.join(at_chance)}."
        )
    if any(isnan(effect.log_energy_ratio.mean) and not effect.at_chance for effect in effects):
        lines.append("- the first model has this accuracy already: it costs nothing.")
    if any(effect.not_reached for effect in effects):
        lines.append("(n not) n runs never reach it, and count with all of their energy.")
    return lines
