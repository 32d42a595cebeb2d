"""What the tables of all parts share."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]
"""What was measured of one thing, as plain values."""


def best(rows: list[Row], count: str) -> Row:
    """The repetition that did most of `count` in a CPU second: others had the machine to share more."""
    return max(rows, key=lambda row: row[count] / row["cpu_seconds"])
