"""How a sweep goes: a bar over its points on a terminal, a line a point elsewhere."""

from __future__ import annotations

import time
from typing import Self

from rich.console import Console

from dmafl.reports.bars import Bars
from dmafl.reports.console import number

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

    def points(self, total: int, done: int) -> None:
        """So many points, and so many of them were there."""
        self._total, self._done, self._there = total, done, done
        self._begun = time.monotonic()
        self._progress.start()
        self._progress.update(self._bar(BAR), total=total, completed=done)
        self._progress.start_task(self._bar(BAR))
        self._say(f"{total} points" + (f", {done} of them there already" if done else ""))

    def point(self, settings: str, problem: str) -> None:
        """A point has ended, with a problem or without."""
        self._done += 1
        spent = max(time.monotonic() - self._begun, 1e-3)
        self._progress.update(
            self._bar(BAR),
            completed=self._done,
            rate=number((self._done - self._there) / spent),
            note=settings,
        )
        ended = f"cannot be done: {problem}" if problem else "done"
        self._say(f"{self._done} of {self._total}: {settings}: {ended}")

    def _say(self, text: str) -> None:
        if not self._console.is_terminal:
            self._console.print(text)
