"""A table on the terminal, laid out for its width: a number is never cut.

A table that is too wide gives way in this order: titles of columns take several lines, then texts do; then spare
columns are left out, the last one first; then rows become columns, or the columns go into several tables, each with
the names of the rows, whichever takes fewer lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import rich.table
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.text import Text

from dmafl.reports.tables.table import Cell, Column, Emphasis, Table, cell

STYLES = {
    Emphasis.GOOD: "green",
    Emphasis.BAD: "red",
    Emphasis.MIXED: "yellow",
    Emphasis.OPEN: "dim",
}
"""Colours; other emphasis is not seen on a terminal."""
LONGEST_WORD = 32
"""A longer word of a text, as a path, may take several lines."""
AROUND = 3
"""Signs that a column takes beside its text: a rule and two spaces; and one more rule for the table."""
HEADING = 4
"""Lines of a table beside its rows."""


@dataclass(frozen=True)
class ShownTable:
    """Draws a table as wide as there is room."""

    table: Table

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[Text | rich.table.Table]:
        """One table, or several below each other, each below its title."""
        shown = _with_small_titles(self.table.shown)
        for column in reversed([column for column in shown.columns if column.spare]):
            if not _fits(console, shown, options.max_width):
                shown = shown.without(column.key)
        if shown.rows and not _fits(console, shown, options.max_width):
            beside = list(_transposed(console, shown, options.max_width))
            below = list(_split(console, shown, options.max_width))
            lines = [
                sum(_lines(console, part, options.max_width) for part in parts) for parts in (beside, below)
            ]
            parts = beside if len(beside) == 1 or lines[0] <= lines[1] else below
        else:
            parts = [shown]
        for part in parts:
            if part.title:
                yield console.render_str(part.title, style="bold")
            yield _drawn(console, part, options.max_width)


def shown_table(table: Table) -> ShownTable:
    """One line per row, with a rule above each new section."""
    return ShownTable(table)


def _drawn(console: Console, table: Table, width: int) -> rich.table.Table:
    drawn = rich.table.Table(header_style="bold")
    for column, wide in zip(table.columns, _widths(console, table, width), strict=True):
        drawn.add_column(column.title, justify=column.align, overflow="fold", width=wide)
    for row, begins_section in table.by_section():
        if begins_section:
            drawn.add_section()
        drawn.add_row(*map(_text, row))
    return drawn


def _widths(console: Console, table: Table, width: int) -> list[int]:
    """Widths of the columns: as wide as their texts; where there is less room, the widest ones give way first."""
    least = [_least(console, *each) for each in _by_column(table)]
    widths = [
        max(low, _wide(console, column.title), *(_wide(console, each.text) for each in cells))
        for (column, cells), low in zip(_by_column(table), least, strict=True)
    ]
    while sum(widths) + AROUND * len(widths) + 1 > width:
        yielding = [place for place in range(len(widths)) if widths[place] > least[place]]
        if not yielding:
            break
        widths[max(yielding, key=lambda place: widths[place])] -= 1
    return widths


def _by_column(table: Table) -> list[tuple[Column, list[Cell]]]:
    return [(column, [row[place] for row in table.rows]) for place, column in enumerate(table.columns)]


def _least(console: Console, column: Column, cells: Sequence[Cell]) -> int:
    """The least width of a column: numbers stay in one line, words stay whole, of texts up to some length."""
    widths = [_wide(console, word) for word in column.title.split()]
    for each in cells:
        whole = _wide(console, each.text)
        if (column.align == "right" or not isinstance(each.value, str)) and whole <= LONGEST_WORD:
            widths.append(whole)
        else:
            widths += [min(_wide(console, word), LONGEST_WORD) for word in each.text.split()]
    return max(widths, default=0)


def _fits(console: Console, table: Table, width: int) -> bool:
    least = sum(_least(console, *each) for each in _by_column(table))
    return least + AROUND * len(table.columns) + 1 <= width


def _split(console: Console, table: Table, width: int) -> Iterator[Table]:
    """The columns in several tables, each with the texts that name the rows.

    A column goes into a further table, too, where it would make so many texts take several lines that this is longer.
    """
    names = [column.key for column in table.columns]
    lead = 1
    while lead < len(names) - 1 and table.columns[lead].align == "left" and not _named_by(table, lead):
        lead += 1
    while lead > 1 and not all(
        _fits(console, table.only(*names[:lead], name), width) for name in names[lead:]
    ):
        lead -= 1
    first, rest = names[:lead], names[lead:]
    title = table.title
    while rest:
        count = 1
        while count < len(rest) and _fits(console, table.only(*first, *rest[: count + 1]), width):
            before, after = (table.only(*first, *rest[: count + more]) for more in (0, 1))
            longer = _lines(console, after, width) - _lines(console, before, width)
            if longer > len(table.rows) + HEADING:
                break
            count += 1
        kept = table.only(*first, *rest[:count])
        sections = tuple(key for key in table.sections if key in first)
        yield replace(kept, title=title, sections=sections)
        rest, title = rest[count:], f"{table.title}, continued"


def _transposed(console: Console, table: Table, width: int) -> Iterator[Table]:
    """Rows as columns, in as many tables as are needed."""
    rows, title = list(table.rows), table.title
    while rows:
        count = 1
        while count < len(rows) and _fits(console, _beside(table, title, rows[: count + 1]), width):
            count += 1
        yield _beside(table, title, rows[:count])
        rows, title = rows[count:], f"{table.title}, continued"


def _beside(table: Table, title: str, rows: Sequence[tuple[Cell, ...]]) -> Table:
    first, *others = table.columns
    texts = {
        place
        for place, row in enumerate(rows)
        if any(
            len(row[1 + k].text) > LONGEST_WORD for k, column in enumerate(others) if column.align == "left"
        )
    }
    columns = [
        Column(str(place), row[0].text, "left" if place in texts else "right")
        for place, row in enumerate(rows)
    ]
    return Table(
        title,
        (Column("", first.title, "left"), *columns),
        tuple((cell(column.title), *(row[1 + place] for row in rows)) for place, column in enumerate(others)),
    )


def _named_by(table: Table, lead: int) -> bool:
    """Whether the texts of the first columns tell every row from every other."""
    names = [tuple(each.text for each in row[:lead]) for row in table.rows]
    return len(set(names)) == len(names)


def _lines(console: Console, table: Table, width: int) -> int:
    """How many lines a table takes, about: texts that are too wide for their column take several."""
    widths = _widths(console, table, width)
    rows = (
        max(-(-_wide(console, each.text) // wide) for each, wide in zip(row, widths, strict=True))
        for row in table.rows
    )
    return HEADING + sum(max(1, lines) for lines in rows)


def _wide(console: Console, text: str) -> int:
    """Signs that a text takes as it is shown."""
    return cell_len(console.render_str(text).plain)


def _text(cell: Cell) -> str | Text:
    """Text without a style is left to the console, which knows what its output can show."""
    if not any(span.emphasis in STYLES for span in cell.spans):
        return cell.text
    return Text.assemble(*((span.text, STYLES.get(span.emphasis, "")) for span in cell.spans))


def _with_small_titles(table: Table) -> Table:
    columns = tuple(replace(column, title=_uncapitalised(column.title)) for column in table.columns)
    return replace(table, columns=columns)


def _uncapitalised(title: str) -> str:
    return title[:1].lower() + title[1:] if title[1:2].islower() else title
