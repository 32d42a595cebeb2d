"""The terminal: colours and full width for a person, plain text of fixed width for a file or pipe.

Text is shown as it is. Names come from users and from files of others: brackets in them are no styles, and signs that
a terminal would obey are spelled out. Where a style is wanted, it is given beside the text: `style=` or a `Text`.
"""

from __future__ import annotations

import sys
from typing import Any, Literal

from rich.console import Console
from rich.progress import Task, TextColumn
from rich.text import Text

from dmafl.base.errors import visible
from dmafl.reports.tables.latex import latex_table
from dmafl.reports.tables.printed import as_csv, as_json
from dmafl.reports.tables.table import Table
from dmafl.reports.terminal.shown_table import shown_table

PLAIN_WIDTH = 160
Form = Literal["", "json", "csv", "latex"]
"""What a command prints: tables for a person, or for other programs."""


class Terminal(Console):
    """A console on standard output that takes no text for more than text."""

    for_programs = False
    """Whether what it prints is for other programs, which want every column."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **settings)

    def print(self, *objects: Any, **settings: Any) -> None:
        """Print texts and tables; a text may have several lines."""
        super().print(*map(self._shown, objects), **settings)

    def note(self, text: str, **settings: Any) -> None:
        """Print a sentence that belongs to the outcome, not to how it goes."""
        self.print(text, **settings)

    def sentence(self, text: str, **settings: Any) -> None:
        """A note that may be long: one line in a file or pipe, where it may be searched for."""
        self.note(text, soft_wrap=not self.is_terminal, **settings)

    def finish(self) -> None:
        """All is printed."""

    def _shown(self, thing: Any) -> Any:
        if isinstance(thing, str):
            return Text(self._known(visible(thing, lines=True)))
        return shown_table(thing) if isinstance(thing, Table) else thing

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


class Collecting(Terminal):
    """For other programs: tables are kept and printed at the end as JSON, CSV or LaTeX; all else goes to stderr."""

    for_programs = True

    def __init__(self, form: Form) -> None:
        super().__init__(stderr=True)
        if not self.is_terminal:
            self.width = PLAIN_WIDTH
        self._form = form
        self._tables: list[Table] = []
        self._notes: list[str] = []

    def print(self, *objects: Any, **settings: Any) -> None:
        """Keep tables, and print texts on standard error."""
        self._tables += [thing for thing in objects if isinstance(thing, Table)]
        others = [thing for thing in objects if not isinstance(thing, Table)]
        if others:
            super().print(*others, **settings)

    def note(self, text: str, **settings: Any) -> None:
        """Keep a sentence of the outcome, and print it on standard error."""
        self._notes.append(text)
        super().note(text, **settings)

    def finish(self) -> None:
        """Print what is kept on standard output."""
        if self._form == "json":
            text = as_json(self._tables, self._notes)
        elif self._form == "csv":
            text = as_csv(self._tables)
        else:
            text = "\n".join(map(latex_table, self._tables))
        sys.stdout.write(text)
        sys.stdout.flush()


def console(form: Form = "") -> Terminal:
    """A console on standard output: for a person, or for other programs."""
    if form:
        return Collecting(form)
    plain = Terminal()
    return plain if plain.is_terminal else Terminal(width=PLAIN_WIDTH, color_system=None)
