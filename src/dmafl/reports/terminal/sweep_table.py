"""A sweep as a table: one row per combination of settings and task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isnan
from typing import Any

from dmafl.base.statistics import Interval
from dmafl.experiments.sweep.point import shown
from dmafl.experiments.sweep.summary import groups
from dmafl.reports.numbers import number
from dmafl.reports.tables.table import Cell, Table, Value, cell


def _three(value: float) -> str:
    return f"{value:.3f}"


COLUMNS: dict[str, tuple[str, Callable[[float], str]]] = {
    "predicted_loss": ("predicted loss", _three),
    "loss": ("loss", _three),
    "accuracy": ("accuracy", _three),
    "energy_J": ("energy [J]", number),
    "diverged": ("diverged", number),
    "steps": ("SGD steps", number),
    "steps_share": ("their share", _three),
    "compute_s": ("compute [s]", number),
    "idle_s": ("idle [s]", number),
    "devices": ("devices", number),
    "staleness": ("staleness", number),
}
"""Column -> its title, and how its numbers are written; the others are in the file."""
WIDE = ("loss", "accuracy", "energy_J")
"""Columns that show their interval too."""


def sweep_table(rows: Any, keys: Sequence[str]) -> Table:
    """Means over seeds; columns without any number are left out, and that of diverged models without any of them."""
    all_groups = groups(rows, keys)
    there = [name for name in COLUMNS if any(group.values[name].n for group in all_groups)]
    if not any(group.values["diverged"].mean > 0 for group in all_groups):
        there = [name for name in there if name != "diverged"]
    return Table.made(
        "sweep",
        "Sweep (mean over seeds ± half of the 95% t-interval)",
        {key: key for key in keys} | {"task": "task"} | {name: COLUMNS[name][0] for name in there},
        (
            (
                *(cell(_value(setting), shown(setting)) for setting in group.settings),
                group.task,
                *(_cell(name, group.values[name]) for name in there),
            )
            for group in all_groups
        ),
        left=["task"],
        intervals=[name for name in there if name in WIDE],
        sections=keys,
    )


def _value(setting: Any) -> Value:
    return setting if isinstance(setting, str | int | float | bool | None) else shown(setting)


def _cell(name: str, values: Interval) -> Cell:
    ends = (values.low, values.high) if name in WIDE else None
    if not values.n:
        return cell(None, "", ends=ends)
    write = COLUMNS[name][1]
    width = "" if isnan(values.half) or name not in WIDE else f" ± {write(values.half)}"
    return cell(values.mean, f"{write(values.mean)}{width}", ends=ends)
