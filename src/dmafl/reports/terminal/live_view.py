"""The live view of a run: one bar a scheme and seed, with rate, virtual time, accuracies and energy."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from dmafl.reports.terminal.bars import Bars
from dmafl.reports.terminal.console import number

REFRESH_S = 0.2


class LiveView(Bars):
    """Draws bars on a terminal; elsewhere prints one line when a unit ends."""

    def __init__(self, out: Console | None = None) -> None:
        super().__init__(out)
        self._drawn: dict[str, tuple[float, int]] = {}

    def units(self, names: Sequence[str]) -> None:
        """One bar for each unit."""
        for name in names:
            self._bar(name, "waiting")

    def step(self, unit: Any) -> None:
        """Show how far a unit is, a few times a second."""
        now, done = time.monotonic(), unit.aggregations
        if unit.name not in self._drawn:
            self._drawn[unit.name] = (now, done)
            self._progress.start_task(self._bars[unit.name])
        before, at = self._drawn[unit.name]
        if not self._console.is_terminal or now - before < REFRESH_S:
            return
        accuracy = "  ".join(f"{task} {value:.3f}" for task, value in unit.records.progress().items())
        note = f"t={number(unit.clock.now)} s  {number(unit.energy_J)} J  {accuracy}"
        rate = (done - at) / (now - before)
        self._progress.update(
            self._bars[unit.name], completed=done, total=unit.slots, rate=number(rate), note=note
        )
        self._drawn[unit.name] = (now, done)

    def finished(self, name: str, status: str) -> None:
        """A unit has ended."""
        bar = self._bars[name]
        total = self._progress.tasks[self._progress.task_ids.index(bar)].total
        self._progress.update(bar, completed=total or 1, total=total or 1, note=status)
        if not self._console.is_terminal:
            self._console.print(f"{name}: {status}")
