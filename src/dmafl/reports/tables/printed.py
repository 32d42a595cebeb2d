"""Tables as text for other programs: JSON, or CSV. Values, not what a person reads."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from math import isfinite
from typing import Any

from dmafl.reports.tables.table import Table, Value


def as_json(tables: Sequence[Table], notes: Sequence[str] = ()) -> str:
    """One object: the rows of every table by its key, and what is said beside them; what is not finite is null.

    Tables of the same key are one list of rows.
    """
    content: dict[str, Any] = {}
    for table in tables:
        rows = [{key: _plain(value) for key, value in row.items()} for row in table.plain_rows]
        content.setdefault(table.key, []).extend(rows)
    return json.dumps(content | {"notes": list(notes)}, indent=1, allow_nan=False) + "\n"


def as_csv(tables: Sequence[Table]) -> str:
    """Every table with a line of keys, an empty line between two; what is not finite is left empty.

    Tables of the same key are one table.
    """
    rows_of: dict[str, list[dict[str, Value]]] = {}
    for table in tables:
        rows_of.setdefault(table.key, []).extend(table.plain_rows)
    return "\n".join(_csv_of(rows) for rows in rows_of.values() if rows)


def _csv_of(rows: Sequence[dict[str, Value]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(
        text, list(dict.fromkeys(key for row in rows for key in row)), lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows({key: _plain(value) for key, value in row.items()} for row in rows)
    return text.getvalue()


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not isfinite(value) else value
