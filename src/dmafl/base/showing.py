"""How values show themselves: in a line where they are printed, and as a table where they are asked for one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from math import isfinite, isnan
from typing import Any

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.statistics import Interval

LONGEST = 300
"""Characters of a value that is printed."""


def counted(number: int, word: str) -> str:
    """A number of things that one `word` names: `1 job`, `1,066 jobs`."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


@dataclass(frozen=True, repr=False)
class Rows:
    """A table: `print` shows all of it, a notebook too; `to_pandas` and `to_pylist` give its numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    @classmethod
    def of(cls, title: str, rows: Sequence[Mapping[str, Any]]) -> Rows:
        """A table of rows that have the same names."""
        columns = tuple(rows[0]) if rows else ()
        return cls(title, columns, tuple(tuple(row[name] for name in columns) for row in rows))

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)

    def __getitem__(self, column: str) -> list[Any]:
        """The cells of a column."""
        place = self.columns.index(column)
        return [row[place] for row in self.rows]

    def to_pylist(self) -> list[dict[str, Any]]:
        """One dictionary for each row; an interval is its mean, and NAME_low and NAME_high beside it."""
        return [_plain(row) for row in self]

    def to_pandas(self) -> Any:
        """As a pandas table, with the columns of `to_pylist`."""
        return pandas().DataFrame(self.to_pylist())

    def __str__(self) -> str:
        cells = [self.columns, *([cell(value) for value in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        left = [all(isinstance(row[k], str) for row in self.rows) for k in range(len(self.columns))]
        lines = [
            "  ".join(
                text.ljust(width) if at_left else text.rjust(width)
                for text, width, at_left in zip(row, widths, left, strict=True)
            ).rstrip()
            for row in cells
        ]
        return "\n".join([self.title, *lines])

    def __repr__(self) -> str:
        return line("Rows", self.title, f"{len(self)} rows", ", ".join(self.columns))

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell(value))}</td>" for value in row) + "</tr>"
            for row in self.rows
        )
        caption = f"<caption>{escape(self.title)}</caption>"
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def cell(value: Any) -> str:
    """A value as a person reads it: four digits, an interval as mean ± half of its width."""
    if value is None:
        return "-"
    if isinstance(value, Interval):
        if isnan(value.mean):
            return "-"
        return cell(value.mean) if isnan(value.half) else f"{value.mean:.4g} ± {value.half:.2g}"
    if isinstance(value, float):
        return f"{value:.4g}" if isfinite(value) else "-" if isnan(value) else str(value)
    return str(value)


def line(kind: str, *parts: str) -> str:
    """What a value prints: its kind and a few words, never more than `LONGEST` characters."""
    text = f"<{kind}: {', '.join(part for part in parts if part)}>"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 2]}…>"


def names(several: Sequence[str], most: int = 4) -> str:
    """The first of several names, and how many more there are."""
    shown = " ".join(several[:most])
    return shown if len(several) <= most else f"{shown} and {len(several) - most} more"


def html_of(head: str, *tables: Rows) -> str:
    """A line and tables below it, for a notebook."""
    return f"<p>{escape(head)}</p>" + "".join(table._repr_html_() for table in tables)


def pandas() -> Any:
    """The library pandas, which not everybody has."""
    try:
        return import_module("pandas")
    except ImportError:
        raise bad_input(
            "pandas", "must be installed for this", ShownAsIs("nothing"), "Use `pip install pandas`."
        ) from None


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Interval):
            plain |= {name: value.mean, f"{name}_low": value.low, f"{name}_high": value.high}
        else:
            plain[name] = value
    return plain
