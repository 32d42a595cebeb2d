"""Progress bars with rate, time left and a note; on a terminal only."""

from __future__ import annotations

from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TimeRemainingColumn

from dmafl.base.watching import Watcher
from dmafl.reports.terminal.console import NameColumn, console


class Bars(Watcher):
    """A watcher with named bars, drawn while it is open; the time left follows from the last `memory_s`."""

    def __init__(self, out: Console | None = None, memory_s: float = 30.0) -> None:
        self._console = out if out is not None else console()
        self._progress = Progress(
            NameColumn("{task.description:<22}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            NameColumn("{task.fields[rate]:>8}/s"),
            TimeRemainingColumn(compact=True),
            NameColumn("{task.fields[note]}"),
            console=self._console,
            disable=not self._console.is_terminal,
            speed_estimate_period=memory_s,
        )
        self._bars: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def _bar(self, name: str, note: str = "") -> TaskID:
        """The bar called `name`, made when it is first asked for."""
        if name not in self._bars:
            self._bars[name] = self._progress.add_task(name, total=None, start=False, rate="", note=note)
        return self._bars[name]

    def _say(self, text: str) -> None:
        """Print a plain line where there is no terminal to draw bars on."""
        if not self._console.is_terminal:
            self._console.print(text)
