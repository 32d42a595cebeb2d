"""How a sweep goes: a bar over its points on a terminal, one line per point elsewhere."""

from __future__ import annotations

import time
from typing import Self

from rich.console import Console

from dmafl.reports.numbers import number
from dmafl.reports.terminal.bars import Bars
from dmafl.reports.terminal.measure_view import MeasureView

BAR = "points"
MEMORY_S = 86_400.0
"""Points may take minutes: the time left follows from all of them."""


class SweepView(Bars):
    """Watches the points of a sweep."""

    def __init__(self, out: Console | None = None) -> None:
        super().__init__(out, MEMORY_S)
        self._done = self._there = self._total = 0
        self._begun = 0.0

    def __enter__(self) -> Self:
        return self  # what is measured before the first point has bars of its own

    def part(self, text: str) -> MeasureView:
        """Who watches the measuring before the points, with bars of its own."""
        return MeasureView(self._console)

    def total(self, name: str, pieces: int, done: int) -> None:
        """So many points, and so many of them were there."""
        self._total, self._done, self._there = pieces, done, done
        self._begun = time.monotonic()
        self._progress.start()
        self._progress.update(self._bar(BAR), total=pieces, completed=done)
        self._progress.start_task(self._bar(BAR))
        self._say(f"{pieces} points" + (f", {done} of them there already" if done else ""))

    def ended(self, name: str, piece: str, problem: str = "") -> None:
        """A point has ended, with a problem or without."""
        self._done += 1
        spent = max(time.monotonic() - self._begun, 1e-3)
        self._progress.update(
            self._bar(BAR),
            completed=self._done,
            rate=number((self._done - self._there) / spent),
            note=piece,
        )
        outcome = f"cannot be done: {problem}" if problem else "done"
        self._say(f"{self._done} of {self._total}: {piece}: {outcome}")
