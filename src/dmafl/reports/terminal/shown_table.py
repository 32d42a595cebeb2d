"""A table on the terminal."""

from __future__ import annotations

import rich.table
from rich.text import Text

from dmafl.reports.tables.table import Cell, Emphasis, Table
from dmafl.reports.terminal.console import table as empty_table

STYLES = {
    Emphasis.GOOD: "green",
    Emphasis.BAD: "red",
    Emphasis.MIXED: "yellow",
    Emphasis.OPEN: "dim",
}
"""Colours; other emphasis is not seen on a terminal."""


def shown_table(table: Table) -> rich.table.Table:
    """One line per row, with a rule above each new section."""
    shown = empty_table(table.title, *(_uncapitalised(column.title) for column in table.columns))
    for place, column in enumerate(table.columns):
        shown.columns[place].justify = column.align
    for row, begins_section in table.by_section():
        if begins_section:
            shown.add_section()
        shown.add_row(*(_cell(cell) for cell in row))
    return shown


def _cell(cell: Cell) -> str | Text:
    """Text without a style is left to the console, which knows what its output can show."""
    if not any(span.emphasis in STYLES for span in cell.spans):
        return cell.text
    return Text.assemble(*((span.text, STYLES.get(span.emphasis, "")) for span in cell.spans))


def _uncapitalised(title: str) -> str:
    return title[:1].lower() + title[1:]
