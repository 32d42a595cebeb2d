"""The live view of a run: one bar per scheme and seed, with rate, virtual time, accuracies and energy."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Self

from rich.console import Console

from dmafl.base.watching import Amount, PieceProgress
from dmafl.reports.numbers import number
from dmafl.reports.terminal.bars import Bars
from dmafl.reports.terminal.measure_view import MeasureView

REFRESH_S = 0.2


class LiveView(Bars):
    """Draws bars on a terminal; elsewhere prints one line when a scheme run ends."""

    def __init__(self, out: Console | None = None) -> None:
        super().__init__(out)
        self._drawn: dict[str, tuple[float, int]] = {}

    def __enter__(self) -> Self:
        return self  # what is measured before the run has bars of its own

    def part(self, text: str) -> MeasureView:
        """Who watches the measuring before the run, with bars of its own."""
        return MeasureView(self._console)

    def total(self, name: str, pieces: int, done: int) -> None:
        """The measuring is over, and scheme runs follow: show their bars from now on."""
        self._progress.start()

    def stage(self, name: str, text: str) -> None:
        """What a scheme run does now, beside its bar."""
        self._progress.update(self._bar(name), note=text)

    def advanced(self, name: str, piece: str, progress: Callable[[], PieceProgress]) -> None:
        """Show how far a scheme run is, a few times a second."""
        now = time.monotonic()
        if piece not in self._drawn:
            self._drawn[piece] = (now, progress().done)
            self._progress.start_task(self._bar(piece))
        drawn_s, drawn = self._drawn[piece]
        if not self._console.is_terminal or now - drawn_s < REFRESH_S:
            return
        done, of, amounts = progress()
        self._progress.update(
            self._bar(piece),
            completed=done,
            total=of,
            rate=number((done - drawn) / (now - drawn_s)),
            note="  ".join(map(_text, amounts)),
        )
        self._drawn[piece] = (now, done)

    def ended(self, name: str, piece: str, problem: str = "") -> None:
        """A scheme run is finished, or has failed."""
        outcome = f"failed: {problem}" if problem else "finished"
        bar = self._bar(piece)
        total = self._progress.tasks[self._progress.task_ids.index(bar)].total
        self._progress.update(bar, completed=total or 1, total=total or 1, note=outcome)
        self._say(f"{piece}: {outcome}")


def _text(amount: Amount) -> str:
    """An amount in words, with its unit."""
    if amount.value is None:
        return f"{amount.name} not measured"
    return f"{amount.name} {number(amount.value)} {amount.unit}".strip()
