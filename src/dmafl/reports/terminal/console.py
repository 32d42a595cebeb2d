"""The terminal: colours and full width for a person, plain text of fixed width for a file or pipe.

Text is shown as it is. Names come from users and from files of others: brackets in them are no styles, and signs that
a terminal would obey are spelled out. Where a style is wanted, it is given beside the text: `style=` or a `Text`.
"""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.progress import Task, TextColumn
from rich.table import Table
from rich.text import Text

from dmafl.base.errors import visible

PLAIN_WIDTH = 160


class Terminal(Console):
    """A console on standard output that takes no text for more than text."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **settings)

    def print(self, *objects: Any, **settings: Any) -> None:
        """Print texts and tables; a text may have several lines."""
        shown = (
            Text(self._known(visible(thing, lines=True))) if isinstance(thing, str) else thing
            for thing in objects
        )
        super().print(*shown, **settings)

    def render_str(
        self, text: str, *, style: Any = "", justify: Any = None, overflow: Any = None, **_: Any
    ) -> Text:
        """A cell, title or heading as it is laid out: one line, in signs that the output has."""
        return Text(self._known(visible(text)), style=style, justify=justify, overflow=overflow)

    def _known(self, text: str) -> str:
        """`text` with signs that the output's encoding does not have spelled out."""
        return text.encode(self.encoding, "backslashreplace").decode(self.encoding)


class NameColumn(TextColumn):
    """Text beside a progress bar, shown as it is."""

    def render(self, task: Task) -> Text:
        """The text of now."""
        return Text(visible(self.text_format.format(task=task)), style=self.style, justify=self.justify)


def console() -> Terminal:
    """A console on standard output."""
    plain = Terminal()
    return plain if plain.is_terminal else Terminal(width=PLAIN_WIDTH, color_system=None)


def table(title: str, *columns: str) -> Table:
    """An empty table; the first column is text, the others are numbers."""
    made = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    for position, column in enumerate(columns):
        made.add_column(column, justify="left" if position == 0 else "right", overflow="fold")
    return made
