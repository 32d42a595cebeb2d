"""Tables as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dmafl.reports.tables.table import Cell, Emphasis, Notes, Span, Table

NOT_RUN = "Not run yet.\n"
MARKS = {Emphasis.NONE: "", Emphasis.CODE: "`"}
"""Signs around a span; any other emphasis is bold."""
BOLD = "**"


def markdown(table: Table) -> str:
    """A table, or that there is nothing in it yet."""
    if not table.rows:
        return NOT_RUN
    return markdown_table([column.title for column in table.columns], (map(_text, row) for row in table.rows))


def markdown_table(titles: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """Titles and rows of text as a table."""
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    lines += ["| " + " | ".join(text.replace("|", "\\|") for text in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def markdown_list(notes: Notes) -> str:
    """Names with what is said of each, below a title if it has one; nothing if there are none."""
    if not notes.items:
        return ""
    lines = [f"- **{name}**: {text}" for name, text in notes.items]
    return "\n".join([f"{notes.title}:\n", *lines] if notes.title else lines) + "\n"


def _text(cell: Cell) -> str:
    text = "".join(_marked(span) for span in cell.spans)
    return f"{text} ({cell.note})" if cell.note else text


def _marked(span: Span) -> str:
    mark = MARKS.get(span.emphasis, BOLD)
    return f"{mark}{span.text}{mark}" if span.text else ""
