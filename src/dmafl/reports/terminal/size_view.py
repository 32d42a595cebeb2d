"""How a sizing goes: a bar for each kind of work on a terminal, one line per piece elsewhere."""

from __future__ import annotations

import time
from typing import Self

from rich.console import Console

from dmafl.reports.numbers import number
from dmafl.reports.terminal.bars import Bars
from dmafl.reports.terminal.measure_view import MeasureView

MEMORY_S = 86_400.0
"""Pieces may take minutes: the time left follows from all of them."""


class SizeView(Bars):
    """Watches values that are tried, plans and seeds."""

    def __init__(self, out: Console | None = None) -> None:
        super().__init__(out, MEMORY_S)
        self._done: dict[str, int] = {}
        self._total: dict[str, int] = {}
        self._begun: dict[str, float] = {}
        self._own: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self  # what is measured before has bars of its own

    def part(self, text: str) -> MeasureView:
        """Who watches the measuring before the plans, with bars of its own."""
        return MeasureView(self._console)

    def total(self, name: str, pieces: int, done: int) -> None:
        """So many pieces of a kind are known, and so many of them are there."""
        self._total[name], self._done[name] = pieces, done
        if name not in self._begun:
            self._begun[name], self._own[name] = time.monotonic(), 0
        self._progress.start()
        self._progress.update(self._bar(name), total=pieces, completed=done)
        self._progress.start_task(self._bar(name))

    def begun(self, name: str, piece: str) -> None:
        """A piece has begun."""
        self._progress.update(self._bar(name), note=piece)

    def ended(self, name: str, piece: str, problem: str = "") -> None:
        """A piece has ended, with a problem or without."""
        self._done[name] += 1
        self._own[name] += 1
        spent = max(time.monotonic() - self._begun[name], 1e-3)
        self._progress.update(
            self._bar(name), completed=self._done[name], rate=number(self._own[name] / spent), note=piece
        )
        outcome = f"cannot be done: {problem}" if problem else "done"
        self._say(f"{name}, {self._done[name]} of {self._total[name]}: {piece}: {outcome}")
