"""Tables that a scenario names: CSV or Parquet, read into columns and checked."""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.files import read_csv, read_parquet
from dmafl.base.files.limits import MAX_TABLE_BYTES

SEPARATORS = {";": "semicolons", "\t": "tabs"}
"""What other programs put between columns."""
_WITH_UNIT = re.compile(r"^\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*[a-zA-Zµ]+\s*$")

Columns = dict[str, np.ndarray[Any, Any]]


def read_table(path: Path, what: str) -> Columns:
    """The columns of a CSV or Parquet file; numbers as float64, everything else as text."""
    read = read_parquet if path.suffix == ".parquet" else read_csv
    table = read(path, what, remedy="Check the file's format.", max_bytes=MAX_TABLE_BYTES)
    separator = next((sign for sign in SEPARATORS if sign in table.column_names[0]), None)
    if path.suffix != ".parquet" and len(table.column_names) == 1 and separator is not None:
        remedy = "Save it as CSV with commas between columns, and decimals with points."
        value = ShownAsIs(f"{SEPARATORS[separator]} in {table.column_names[0]!r}")
        raise bad_input(str(path), "must have commas between its columns", value, remedy)
    if table.num_rows == 0:
        raise bad_input(str(path), "must have at least one row", ShownAsIs("a header only"), "Add rows.")
    if len(set(table.column_names)) != len(table.column_names):
        twice = next(name for name in table.column_names if table.column_names.count(name) > 1)
        raise bad_input(
            f"{path.name}:{twice}",
            "must be the name of one column",
            ShownAsIs("two columns"),
            "Rename or remove one.",
        )
    return {name: _column(table.column(name), f"{path.name}:{name}") for name in table.column_names}


def check_columns(columns: Columns, required: Collection[str], optional: Collection[str], path: Path) -> None:
    """Refuse missing and unknown columns; the remedy suggests the nearest name."""
    known = [*required, *optional]
    for name in columns:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            remedy = f"Did you mean `{near[0]}`?" if near else "Known columns: " + ", ".join(known) + "."
            raise bad_input(
                f"{path.name}:{name}", "must be a known column", ShownAsIs("an unknown one"), remedy
            )
    for name in required:
        if name not in columns:
            raise bad_input(f"{path.name}:{name}", "must be a column", ShownAsIs("no such column"), "Add it.")


def check_numbers(
    values: np.ndarray[Any, Any],
    name: str,
    *,
    low: float | None = None,
    high: float | None = None,
    strict: bool = False,
) -> None:
    """Refuse values that are not finite numbers within the range; the message names the first one and its row."""
    if values.dtype.kind not in "if":
        row = next((row for row, value in enumerate(values) if not _is_number(value)), 0)
        with_unit = _WITH_UNIT.match(str(values[row]))
        remedy = f"Write the number alone, {with_unit[1]}." if with_unit else "Write plain numbers."
        raise bad_input(f"{name}[{row}]", "must be a number", str(values[row]), remedy)
    bad = ~np.isfinite(values)
    rule = "must be a finite number"
    if low is not None and not bad.any():
        bad = values <= low if strict else values < low
        rule = f"must be {'>' if strict else '>='} {low:g}"
    if high is not None and not bad.any():
        bad, rule = values > high, f"must be <= {high:g}"
    if bad.any():
        row = int(np.argmax(bad))
        raise bad_input(f"{name}[{row}]", rule, float(values[row]), "Mend that row of the table.")


def _is_number(text: Any) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _column(column: Any, name: str) -> np.ndarray[Any, Any]:
    import pyarrow as pa

    if column.null_count:
        raise bad_input(
            name,
            "must have a value in every row",
            ShownAsIs(f"{column.null_count} empty cells"),
            "Fill them in.",
        )
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(column.to_numpy(), dtype=np.float64)
    return np.asarray([str(value) for value in column.to_pylist()], dtype=object)
