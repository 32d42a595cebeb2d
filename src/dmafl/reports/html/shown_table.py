"""A table in a page."""

from __future__ import annotations

from dmafl.reports.html import html
from dmafl.reports.html.html import Html, element, together
from dmafl.reports.tables.table import Cell, Table


def shown_table(table: Table) -> Html:
    """Numbers as numbers, everything else as text; a style sheet gives columns their looks."""
    return html.table(
        table.title,
        [column.title for column in table.columns],
        [[_cell(cell) for cell in row] for row in table.rows],
    )


def _cell(cell: Cell) -> html.Cell:
    if isinstance(cell.value, int | float) or cell.value is None:
        return cell.value
    if not cell.note:
        return cell.text
    return together(
        element("span", cell.text, class_="effect"), " ", element("span", cell.note, class_="small")
    )
