"""Tables as values: what a table says, whatever shows it.

A table is made once. `reports.terminal.shown_table`, `reports.html.shown_table`, `reports.tables.markdown` and
`reports.tables.csv_file` show it, each in its medium. A medium may choose columns, join several into one, or spread an
interval over three; it makes no cells of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from math import isfinite
from operator import attrgetter
from typing import Any, Literal, Self, TypeVar

from dmafl.reports.numbers import number

Value = str | int | float | bool | None


class Emphasis(Enum):
    """What a piece of text is to stand out as; a medium shows it as well as it can."""

    NONE = auto()
    STRONG = auto()
    CODE = auto()
    GOOD = auto()
    BAD = auto()
    MIXED = auto()
    OPEN = auto()
    """Neither good nor bad is known."""


@dataclass(frozen=True)
class Span:
    """A piece of text and its emphasis."""

    text: str
    emphasis: Emphasis = Emphasis.NONE


@dataclass(frozen=True)
class Cell:
    """What stands in one row and column."""

    value: Value
    """As a file of rows has it."""
    spans: tuple[Span, ...]
    """As a person reads it."""
    ends: tuple[float, float] | None = None
    """Of the interval around `value`."""
    note: str = ""
    """What the cell is about, in smaller print or brackets."""

    @property
    def text(self) -> str:
        """All spans together."""
        return "".join(span.text for span in self.spans)


@dataclass(frozen=True)
class Column:
    """What the cells below each other have in common."""

    key: str
    """Its name in a file of rows."""
    title: str
    """Its name for a person, with the unit in brackets."""
    align: Literal["left", "right"] = "right"
    interval: bool = False
    """Whether its cells have ends."""
    in_files: bool = True
    """Whether files of rows have it; not where it says again, for a person, what other columns say."""
    only_in_files: bool = False
    """Whether a person does not see it, as what the title of the table says."""
    spare: bool = False
    """Whether a terminal leaves it out where there is no room for it."""


Row = TypeVar("Row")
Rule = tuple[Column, Callable[[Row], Cell | Value]]
"""A column, and what it has in each row."""


def plain(key: str, title: str, of: str = "", align: Literal["left", "right"] = "right") -> Rule[Any]:
    """A column that shows what its rows have under the name `of`, which may be dotted; by default, under its key."""
    return Column(key, title, align), attrgetter(of or key)


@dataclass(frozen=True)
class Table:
    """Rows of cells below the titles of their columns."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    sections: tuple[str, ...] = ()
    """Keys of columns: where one of their cells changes, a new section begins."""
    key: str = ""
    """Its name in a file of several tables."""
    sums: int = 0
    """How many of the last rows add up the others: a section of their own for a person, left out of files."""

    @classmethod
    def of(cls, title: str, things: Iterable[Row], rules: Sequence[Rule[Row]]) -> Self:
        """One row for each of `things`, one column for each rule."""
        rows = tuple(tuple(_as_cell(make(thing)) for _, make in rules) for thing in things)
        return cls(title, tuple(column for column, _ in rules), rows)

    @classmethod
    def made(
        cls,
        key: str,
        title: str,
        columns: Mapping[str, str],
        rows: Iterable[Sequence[Cell | Value]],
        *,
        left: Sequence[str] = (),
        intervals: Sequence[str] = (),
        only_in_files: Sequence[str] = (),
        spare: Sequence[str] = (),
        sections: Sequence[str] = (),
        sums: int = 0,
    ) -> Self:
        """A table of rows as they are; `columns` has the title of each key. The first column is text, as are `left`."""
        texts = {next(iter(columns)), *left}
        made = tuple(
            Column(
                name,
                head,
                "left" if name in texts else "right",
                interval=name in intervals,
                only_in_files=name in only_in_files,
                spare=name in spare,
            )
            for name, head in columns.items()
        )
        cells = tuple(tuple(map(_as_cell, row)) for row in rows)
        assert all(len(row) == len(made) for row in cells), title
        return cls(title, made, cells, tuple(sections), key, sums)

    @property
    def shown(self) -> Self:
        """The columns that a person sees."""
        return self.only(*(column.key for column in self.columns if not column.only_in_files))

    @property
    def plain_rows(self) -> list[dict[str, Value]]:
        """The rows as files have them: values by key, an interval as three of them, without sums."""
        filed = self.only(*(column.key for column in self.columns if column.in_files))
        filed = filed.spread(*(column.key for column in filed.columns if column.interval))
        names = [column.key for column in filed.columns]
        rows = filed.rows[: len(filed.rows) - self.sums]
        return [dict(zip(names, (cell.value for cell in row), strict=True)) for row in rows]

    def only(self, *keys: str) -> Self:
        """The columns with these keys, in this order."""
        places = [self._place(key) for key in keys]
        return replace(
            self,
            columns=tuple(self.columns[place] for place in places),
            rows=tuple(tuple(row[place] for place in places) for row in self.rows),
        )

    def without(self, *keys: str) -> Self:
        """All columns but those with these keys."""
        return self.only(*(column.key for column in self.columns if column.key not in keys))

    def retitled(self, titles: Mapping[str, str]) -> Self:
        """The same, with other titles of the columns with these keys."""
        return replace(
            self,
            columns=tuple(
                replace(column, title=titles.get(column.key, column.title)) for column in self.columns
            ),
        )

    def joined(self, title: str, keys: Sequence[str], pattern: str) -> Self:
        """Several columns as one in the place of the first: `pattern` has `{}` for the text of each."""
        places = [self._place(key) for key in keys]
        first = places[0]

        def in_place(row: Sequence[Cell]) -> tuple[Cell, ...]:
            return (*row[:first], _joined([row[place] for place in places], pattern), *row[first + 1 :])

        column = Column(keys[0], title, "left")
        return replace(
            self,
            columns=(*self.columns[:first], column, *self.columns[first + 1 :]),
            rows=tuple(in_place(row) for row in self.rows),
        )

    def spread(self, *keys: str) -> Self:
        """Each of these columns of intervals as three of numbers: the value, and both ends."""
        for key in keys:
            assert self.columns[self._place(key)].interval, key
        return replace(
            self,
            columns=tuple(three for column in self.columns for three in _spread_column(column, keys)),
            rows=tuple(
                tuple(
                    three
                    for column, cell in zip(self.columns, row, strict=True)
                    for three in (_spread_cell(cell) if column.key in keys else (cell,))
                )
                for row in self.rows
            ),
        )

    def by_section(self) -> Iterator[tuple[tuple[Cell, ...], bool]]:
        """Every row, and whether a new section begins with it."""
        places = [self._place(key) for key in self.sections]
        before: list[Value] | None = None
        for number_of_row, row in enumerate(self.rows):
            section = [row[place].value for place in places]
            section.append(number_of_row >= len(self.rows) - self.sums)
            yield row, before is not None and section != before
            before = section

    def _place(self, key: str) -> int:
        return [column.key for column in self.columns].index(key)


@dataclass(frozen=True)
class Notes:
    """What is said of some of the rows, by name, below a title."""

    title: str
    items: tuple[tuple[str, str], ...]


def measured(value: float) -> Cell:
    """A number of a measurement; a dash where nobody has measured it."""
    return cell(value) if isfinite(value) else cell(None, "-")


def cell(
    value: Value,
    text: str | None = None,
    *,
    emphasis: Emphasis = Emphasis.NONE,
    ends: tuple[float, float] | None = None,
    note: str = "",
) -> Cell:
    """A cell with one span of text; without `text`, the value itself, and nothing for None."""
    if text is None:
        text = "" if value is None else number(value) if isinstance(value, float) else str(value)
    return Cell(value, (Span(text, emphasis),), ends, note)


def count(value: int) -> Cell:
    """A whole number, for a person with a thousands separator."""
    return cell(int(value), f"{value:,}")


def _as_cell(given: Cell | Value) -> Cell:
    return given if isinstance(given, Cell) else cell(given)


def _joined(cells: Sequence[Cell], pattern: str) -> Cell:
    first, *between = pattern.split("{}")
    spans = [Span(first)] if first else []
    for part, after in zip(cells, between, strict=True):
        spans += [*part.spans, *([Span(after)] if after else [])]
    return Cell("".join(span.text for span in spans), tuple(spans))


def _spread_column(column: Column, keys: Sequence[str]) -> tuple[Column, ...]:
    if column.key not in keys:
        return (column,)
    return (
        replace(column, interval=False),
        Column(f"{column.key}_low", "From"),
        Column(f"{column.key}_high", "To"),
    )


def _spread_cell(middle: Cell) -> tuple[Cell, ...]:
    assert middle.ends is not None
    return (cell(middle.value), *(cell(end) for end in middle.ends))
