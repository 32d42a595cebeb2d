"""One row of a device table: added to the file, or brought up to date in it; all else stays as it is written."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.files import locked, read_text, write_text
from dmafl.base.files.limits import MAX_TABLE_BYTES
from dmafl.world.devices import TABLE_COLUMNS, limits_of_column, task_columns
from dmafl.world.tables import check_columns, check_numbers, read_table

DIGITS = 6
"""Of a number that is measured."""
CLOCK = "A row needs the clock: give --frequency-Hz, in Python frequency_Hz=."


def write_row(
    path: Path, measured: Mapping[str, Any], more: Mapping[str, Any], tasks: Sequence[str]
) -> list[str]:
    """Put a row into the table `path`: what was `measured`, and `more`, values that a user knows.

    Gives the measured columns that are left out, since other rows of the table have no value of them.
    """
    _check(path, measured, more, tasks)
    cells = {name: _text(value) for name, value in {**measured, **more}.items()}
    with locked(path.parent):
        header, rows = _content(path)
        place = next((k for k, row in enumerate(rows) if row["id"] == cells["id"]), len(rows))
        new = [name for name in cells if name not in header]
        if rows and not (len(rows) == 1 and place == 0):
            given = [name for name in new if name in more]
            if given:
                rule = f"must be columns of {path.name}, or every other row lacks them"
                raise bad_input("--set", rule, ", ".join(given), "Add them to the table first.")
            left_out = new
        else:
            left_out = []
            header = [*header, *new]
        row = {**(rows[place] if place < len(rows) else {}), **cells}
        _check_whole(path, header, row)
        rows[place : place + 1] = [row]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows([header, *([each[name] for name in header] for each in rows)])
        write_text(path, text.getvalue())
    return left_out


def _check(path: Path, measured: Mapping[str, Any], more: Mapping[str, Any], tasks: Sequence[str]) -> None:
    if path.suffix != ".csv":
        raise bad_input(str(path), "must be a .csv file", path.suffix, "Name it e.g. devices.csv.")
    if set(measured) == {"id"}:
        raise bad_input(str(path), "needs something that was measured", ShownAsIs("the name alone"), CLOCK)
    known = [name for name in (*TABLE_COLUMNS, *task_columns(tasks)) if name != "id"]
    check_columns({name: np.empty(0) for name in more}, (), known, path)
    for name, value in {**measured, **more}.items():
        if name != "id":
            limits = limits_of_column(name)
            check_numbers(np.asarray([value]), name, low=limits.low, high=limits.high)


def _content(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    """The header and the rows of a table as they are written; nothing of one that is not there yet."""
    if not path.exists():
        return [], []
    columns = read_table(path, "device table")
    if "id" not in columns:
        remedy = "Add a column id with a name for each row, or name another file."
        raise bad_input(str(path), "must have a column id", ShownAsIs("none"), remedy)
    text = read_text(path, "device table", MAX_TABLE_BYTES).removeprefix("\ufeff")
    header, *rows = [row for row in csv.reader(io.StringIO(text)) if row]
    return header, [dict(zip(header, row, strict=True)) for row in rows]


def _check_whole(path: Path, header: Sequence[str], row: Mapping[str, str]) -> None:
    missing = [name for name in header if name not in row]
    if missing:
        asked = " ".join(f"--set {name}=..." for name in missing)
        remedy = f"Give what was not measured: {asked}"
        if any(name.startswith(("cycles_per_sample", "frequency")) for name in missing):
            remedy = f"{CLOCK} {remedy}"
        rule = "has a value in every row, so this one needs some too"
        raise bad_input(str(path), rule, ShownAsIs(f"none of {', '.join(missing)}"), remedy)


def _text(value: Any) -> str:
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else str(value)
