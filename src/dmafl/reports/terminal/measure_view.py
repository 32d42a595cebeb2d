"""How measuring goes: bars with rate and time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time

from rich.console import Console

from dmafl.reports.numbers import number
from dmafl.reports.terminal.bars import Bars

LINES = 4
"""Lines that report the probes of a task where there is no terminal."""


class MeasureView(Bars):
    """One bar per task for its probes, and a word on what is measured before; a watcher of `dmafl.measure`."""

    def __init__(self, out: Console | None = None) -> None:
        super().__init__(out)
        self._done: dict[str, tuple[int, int]] = {}
        self._begun: dict[str, tuple[float, int]] = {}

    def stage(self, name: str, text: str) -> None:
        """Say what is measured now."""
        self._progress.update(self._bar(name), note=text)
        self._say(f"{name}: {text}")

    def total(self, name: str, pieces: int, done: int) -> None:
        """Set the bar of a task to its probes."""
        self._done[name] = (done, pieces)
        self._progress.update(self._bar(name), completed=done, total=pieces, note="probes")
        if done:
            self._say(f"{name}: {done} of {pieces} probes were there already")

    def ended(self, name: str, piece: str, problem: str = "") -> None:
        """Move the bar of a task."""
        done, total = self._done[name]
        now = time.monotonic()
        if name not in self._begun:  # the clock starts with the first one: processes had to start before it
            self._begun[name] = (now, done + 1)
            self._progress.start_task(self._bar(name))
        before, first = self._begun[name]
        rate = number((done + 1 - first) / (now - before)) if now > before else ""
        self._done[name] = (done + 1, total)
        self._progress.update(self._bar(name), completed=done + 1, rate=rate, note="probes")
        if (done + 1) * LINES // total > done * LINES // total:
            self._say(f"{name}: {done + 1} of {total} probes")
