"""Cells of the tables: known names, finite numbers, counts that can be; rows that break this are set aside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dmafl.experiments.run.manifest import Manifest
from dmafl.server.updates import UpdateCheck
from dmafl.simulation.records import DEVICE_LEFT, JOB_FAILURES, NOT_AGGREGATED, QUALITY, TAKEN
from dmafl.simulation.run_name import RunName
from dmafl.world.world import World

Array = np.ndarray[Any, Any]

REFUSED = tuple(f"refused: {check.value}" for check in UpdateCheck if check.ends_job)
OUTCOMES = (*TAKEN, "unfinished", "failed: battery", "failed: window", DEVICE_LEFT, *REFUSED)
NULLABLE = (*QUALITY, "grad_norm2")
"""Columns that may be empty: what was not computed."""
REPORTED = ("energy_J", "uplink_J", "compute_J", "downlink_J", "samples")
"""Columns that may also be empty in a run on real devices: what nobody has measured or told."""
OUTCOMES_OF_REAL = tuple(f"failed: {reason}" for reason in JOB_FAILURES)
LARGEST = 1e100
"""Times, energies and frequencies are far below it, and squares of it are still finite."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The columns of a table as arrays, the rows that can be checked, and what is wrong with cells."""

    columns: dict[str, Array]
    usable: Array
    """Whether a row's names and numbers are such that it can be checked."""
    wrong: tuple[tuple[str, Array], ...]
    """What is wrong in words, and with which rows."""

    def of(self, name: RunName) -> Array:
        """The usable rows of the run of a scheme and seed."""
        of_run = (self.columns["scheme"] == name.scheme) & (self.columns["seed"] == name.seed)
        return np.flatnonzero(self.usable & of_run)


def cells_of(name: str, table: pa.Table, manifest: Manifest, worlds: Mapping[int, World]) -> Cells:
    """Check every cell of `metrics` or `periods`."""
    columns, wrong = {}, []
    nullable = (*NULLABLE, *REPORTED) if manifest.real else NULLABLE
    usable = np.ones(table.num_rows, dtype=bool)
    for column in table.column_names:
        values = table.column(column)
        empty = values.is_null().to_numpy(zero_copy_only=False)
        if column in nullable and pa.types.is_integer(values.type):
            values = values.fill_null(0)
        elif column in nullable:
            nan = pc.is_nan(values).fill_null(False).to_numpy(zero_copy_only=False)
            wrong.append((f"{column} is not a number, where nothing or a finite number must be", nan))
        elif empty.any():
            wrong.append((f"{column} is empty", empty))
            usable &= ~empty
            values = values.fill_null("" if pa.types.is_string(values.type) else 0)
        array = values.to_numpy(zero_copy_only=False)
        if array.dtype.kind == "f":
            infinite = np.isinf(array) if column in nullable else ~np.isfinite(array)
            wrong.append((f"{column} is not finite", infinite))
            if column not in nullable:
                wrong.append((f"{column} is beyond any size that there is", np.abs(array) > LARGEST))
        columns[column] = array
    for problem, broken, essential in _ranges(name, columns, manifest, worlds):
        wrong.append((problem, broken))
        if essential:
            usable &= ~broken
    return Cells(columns, usable, tuple((problem, broken) for problem, broken in wrong if broken.any()))


def _ranges(
    name: str, columns: dict[str, Array], manifest: Manifest, worlds: Mapping[int, World]
) -> list[tuple[str, Array, bool]]:
    """What is wrong in words, with which rows, and whether these cannot be checked further."""
    world = worlds[manifest.seeds[0]]
    of_run = {
        "scheme": np.isin(columns["scheme"].astype(str), manifest.schemes),
        "seed": np.isin(columns["seed"], manifest.seeds),
        "task": np.isin(columns["task"].astype(str), world.task_names),
    }
    out = [(f"{column} is none of this run", ~good, True) for column, good in of_run.items()]
    slots = np.zeros(len(columns["task"]), dtype=np.int64)
    for task, count in zip(world.task_names, world.slots.tolist(), strict=True):
        slots[columns["task"] == task] = count
    ranges = (
        _of_metrics(columns, slots) if name == "metrics" else _of_periods(columns, slots, world.device_count)
    )
    if name == "periods" and manifest.real:
        known = (*OUTCOMES, *OUTCOMES_OF_REAL)
        ranges["outcome"] = (ranges["outcome"][0], np.isin(columns["outcome"].astype(str), known), True)
    for column, (rule, good, essential) in ranges.items():
        out.append((f"{column.partition(' ')[0]} {rule}", ~good, essential))
    return out


Range = tuple[str, Array, bool]


def _of_metrics(columns: dict[str, Array], slots: Array) -> dict[str, Range]:
    out: dict[str, Range] = {
        name: ("is negative", ~(columns[name] < 0), False)
        for name in ("time_s", "loss", "energy_J", "uplink_J", "compute_J", "downlink_J")
    }
    out["aggregation"] = (
        "is none of the task's",
        (columns["aggregation"] >= 0) & (columns["aggregation"] <= slots),
        True,
    )
    out["accuracy"] = ("is not in [0, 1]", (columns["accuracy"] >= 0) & (columns["accuracy"] <= 1), False)
    out["test_samples"] = ("is not positive", columns["test_samples"] > 0, False)
    return out


def _of_periods(columns: dict[str, Array], slots: Array, devices: int) -> dict[str, Range]:
    out: dict[str, Range] = {
        name: ("is negative", ~(columns[name] < 0), False)
        for name in (
            "start_s",
            "download_s",
            "compute_s",
            "upload_s",
            "end_s",
            "uplink_J",
            "compute_J",
            "downlink_J",
            "mix_weight",
        )
    }
    most = 2**53

    def within(name: str, low: Any, high: Any) -> Array:
        return np.asarray((columns[name] >= low) & (columns[name] <= high))

    out["device"] = ("is none of the fleet's", within("device", 0, devices - 1), True)
    out["version"] = ("is none of the task's", within("version", 0, slots - 1), True)
    out["slot"] = ("is none of the task's", within("slot", NOT_AGGREGATED, slots - 1), True)
    out["steps"] = ("is no number of steps", within("steps", 1, most), True)
    out["batch"] = ("is no number of samples", within("batch", 1, most), True)
    out["samples"] = ("is no number of samples", within("samples", 0, most), True)
    out["staleness"] = ("is none that there can be", within("staleness", NOT_AGGREGATED, slots), True)
    out["frequency_Hz"] = ("is not positive", columns["frequency_Hz"] > 0, False)
    out["outcome"] = ("is none that there is", np.isin(columns["outcome"].astype(str), OUTCOMES), True)
    return out
