"""How a study goes: a bar over its runs with rate and time left on a terminal, one plain line per run elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from dmafl.base.watching import Watcher
from dmafl.reports.numbers import number
from dmafl.reports.terminal.bars import Bars
from dmafl.reports.terminal.measure_view import MeasureView

STUDY_RUNS = "study runs"
MEMORY_S = 86_400.0
"""Runs take minutes: the time left follows from all of them, not from the last seconds."""


class StudyView(Bars):
    """Watches the runs of a study, and the measuring before them."""

    def __init__(self, out: Console | None = None) -> None:
        super().__init__(out, MEMORY_S)
        self._total: int | None = None
        self._done = 0
        self._started_s = time.monotonic()
        self._begun: dict[str, float] = {}

    def total(self, name: str, pieces: int, done: int) -> None:
        """So many runs are wanted, of which so many are there; the others will be carried out."""
        self._total = pieces - done
        self._started_s = time.monotonic()
        self._progress.update(self._bar(STUDY_RUNS), total=self._total)
        self._say(f"{self._total} study runs to carry out")

    @contextmanager
    def part(self, text: str) -> Iterator[Watcher]:
        """Who watches the measuring before the runs: bars among those of the study, until it is over."""
        self._say(text)
        measuring = _MeasuringPart(self)
        try:
            yield measuring
        finally:
            measuring.remove()

    def begun(self, name: str, piece: str) -> None:
        """A run has begun."""
        now = time.monotonic()
        self._begun[piece] = now
        self._progress.start_task(self._bar(STUDY_RUNS))
        self._update(now)

    def ended(self, name: str, piece: str, problem: str = "") -> None:
        """A run is finished, or has failed."""
        now = time.monotonic()
        self._done += 1
        took_s = now - self._begun.pop(piece, now)
        outcome = f"failed: {problem}" if problem else "finished"
        self._say(f"{self._count()}: {piece}: {outcome} after {_duration(took_s)}{self._left(now)}")
        self._update(now)

    def _update(self, now: float) -> None:
        self._progress.update(
            self._bar(STUDY_RUNS),
            completed=self._done,
            rate=number(self._done / max(now - self._started_s, 1e-3)) if self._done else "",
            note="; ".join(self._begun),
        )

    def _count(self) -> str:
        return f"{self._done}" if self._total is None else f"{self._done} of {self._total}"

    def _left(self, now: float) -> str:
        if self._total is None or self._done >= self._total:
            return ""
        left_s = (now - self._started_s) / self._done * (self._total - self._done)
        return f", about {_duration(left_s)} left"


class _MeasuringPart(MeasureView):
    """Bars of measuring among those of the study, until it is over."""

    def __init__(self, view: StudyView) -> None:
        super().__init__(view._console)
        self._progress = view._progress

    def remove(self) -> None:
        """Take the bars away."""
        for bar in self._bars.values():
            self._progress.remove_task(bar)


def _duration(seconds: float) -> str:
    """Seconds as a person says them."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 100 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
