"""The live view of a run: one bar per scheme and seed, with rate, virtual time, accuracies and energy."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Self

from rich.console import Console

from dmafl.reports.numbers import number
from dmafl.reports.terminal.bars import Bars
from dmafl.reports.terminal.measure_view import MeasureView

REFRESH_S = 0.2


class LiveView(Bars):
    """Draws bars on a terminal; elsewhere prints one line when a run ends."""

    def __init__(self, out: Console | None = None) -> None:
        super().__init__(out)
        self._drawn: dict[str, tuple[float, int]] = {}

    def __enter__(self) -> Self:
        return self  # what is measured before the run has bars of its own

    def part(self, text: str) -> MeasureView:
        """Who watches the measuring before the run, with bars of its own."""
        return MeasureView(self._console)

    def scheme_runs(self, names: Sequence[str]) -> None:
        """One bar for each run of a scheme and seed."""
        self._progress.start()
        for name in names:
            self._bar(name, "waiting")

    def step(self, scheme_run: Any) -> None:
        """Show how far a run is, a few times a second."""
        now, done = time.monotonic(), scheme_run.aggregations
        if scheme_run.name not in self._drawn:
            self._drawn[scheme_run.name] = (now, done)
            self._progress.start_task(self._bars[scheme_run.name])
        before, at = self._drawn[scheme_run.name]
        if not self._console.is_terminal or now - before < REFRESH_S:
            return
        accuracies = scheme_run.records.tests.accuracies()
        accuracy = "  ".join(f"{task} {value:.3f}" for task, value in accuracies.items())
        energy_J = scheme_run.energy_J
        spent = "energy not measured" if energy_J is None else f"{number(energy_J)} J"
        note = f"t={number(scheme_run.transport.now)} s  {spent}  {accuracy}"
        rate = (done - at) / (now - before)
        self._progress.update(
            self._bars[scheme_run.name], completed=done, total=scheme_run.slots, rate=number(rate), note=note
        )
        self._drawn[scheme_run.name] = (now, done)

    def finished(self, name: str, status: str) -> None:
        """The run of a scheme has ended."""
        bar = self._bars[name]
        total = self._progress.tasks[self._progress.task_ids.index(bar)].total
        self._progress.update(bar, completed=total or 1, total=total or 1, note=status)
        if not self._console.is_terminal:
            self._console.print(f"{name}: {status}")
