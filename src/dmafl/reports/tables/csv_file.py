"""Tables as CSV files: values, not texts; an interval is three columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from math import isfinite
from pathlib import Path

from dmafl.base.files import write_text
from dmafl.reports.tables.table import Table, Value


def write_csv(path: Path, table: Table) -> None:
    """A line of keys, then one line per row; what is not a finite number is left empty. No rows: an empty file."""
    plain = table.only(*(column.key for column in table.columns if column.in_files))
    plain = plain.spread(*(column.key for column in plain.columns if column.interval))
    names = [column.key for column in plain.columns]
    write_rows(path, names, [[cell.value for cell in row] for row in plain.rows])


def write_rows(path: Path, names: Sequence[str], rows: Sequence[Sequence[Value]]) -> None:
    """The same of rows of values that no person reads as a table."""
    text = io.StringIO()
    if rows:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([_as_text(value) for value in row] for row in rows)
    write_text(path, text.getvalue())


def _as_text(value: Value) -> Value:
    if isinstance(value, float):
        return f"{value:.6g}" if isfinite(value) else ""
    return value
