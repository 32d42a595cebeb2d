"""The terminal: colours and full width for a person, plain text of fixed width for a file or pipe."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

PLAIN_WIDTH = 160


def console() -> Console:
    """A console on standard output."""
    plain = Console()
    return plain if plain.is_terminal else Console(width=PLAIN_WIDTH, color_system=None, highlight=False)


def table(title: str, *columns: str) -> Table:
    """An empty table; the first column is text, the others are numbers."""
    made = Table(title=escape(title), title_justify="left", title_style="bold", header_style="bold")
    for position, column in enumerate(columns):
        made.add_column(escape(column), justify="left" if position == 0 else "right", overflow="fold")
    return made


def number(value: float) -> str:
    """A number with four significant digits and a thousands separator."""
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return f"{value:.3e}"
