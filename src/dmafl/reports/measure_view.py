"""How measuring goes: bars with rate and time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time

from rich.console import Console

from dmafl.reports.bars import Bars
from dmafl.reports.console import number

LINES = 4
"""Lines that tell of the probes of a task where there is no terminal."""


class MeasureView(Bars):
    """A bar a task for its probes, and a word on what is measured before; a watcher of `dmafl.measure`."""

    def __init__(self, out: Console | None = None) -> None:
        super().__init__(out)
        self._done: dict[str, tuple[int, int]] = {}
        self._begun: dict[str, tuple[float, int]] = {}

    def stage(self, task: str, text: str) -> None:
        """Say what is measured now."""
        self._progress.update(self._bar(task), note=text)
        self._say(f"{task}: {text}")

    def probes(self, task: str, done: int, total: int) -> None:
        """Set the bar of a task to its probes."""
        self._done[task] = (done, total)
        self._progress.update(self._bar(task), completed=done, total=total, note="probes")
        if done:
            self._say(f"{task}: {done} of {total} probes were there already")

    def probed(self, task: str) -> None:
        """Move the bar of a task."""
        done, total = self._done[task]
        now = time.monotonic()
        if task not in self._begun:  # the clock starts with the first one: processes had to start before it
            self._begun[task] = (now, done + 1)
            self._progress.start_task(self._bar(task))
        before, first = self._begun[task]
        rate = number((done + 1 - first) / (now - before)) if now > before else ""
        self._done[task] = (done + 1, total)
        self._progress.update(self._bar(task), completed=done + 1, rate=rate, note="probes")
        if (done + 1) * LINES // total > done * LINES // total:
            self._say(f"{task}: {done + 1} of {total} probes")

    def _say(self, text: str) -> None:
        if not self._console.is_terminal:
            self._console.print(text)
