"""How a study goes: a bar over its units with rate and time left on a terminal, a plain line a unit elsewhere."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.console import Console

from dmafl.measuring.watching import Watcher
from dmafl.reports.bars import Bars
from dmafl.reports.console import number
from dmafl.reports.measure_view import MeasureView

if TYPE_CHECKING:  # these bring the simulator, which a view does not need
    from dmafl.study.unit import Unit
    from dmafl.study.workers import Order

UNITS = "units"
MEMORY_S = 86_400.0
"""Units take minutes: the time left follows from all of them, not from the last seconds."""


class StudyView(Bars):
    """Watches the units of a study, and the measuring before them."""

    def __init__(self, out: Console | None = None) -> None:
        super().__init__(out, MEMORY_S)
        self._total: int | None = None
        self._done = 0
        self._started_s = time.monotonic()
        self._begun: dict[str, float] = {}
        self._measuring: _MeasuringPart | None = None

    def total(self, units: int) -> None:
        """So many units will be carried out."""
        self._total = units
        self._started_s = time.monotonic()
        self._progress.update(self._bar(UNITS), total=units)
        self._say(f"{units} units to carry out")

    def measuring(self, unit: Unit) -> Watcher:
        """A watcher of the measuring that `unit` stands for."""
        self._end_measuring()
        self._say(f"measuring: {unit.preset}, {unit.partition}, seed {unit.seed}")
        self._measuring = _MeasuringPart(self)
        return self._measuring

    def watch(self, order: Order, state: str) -> None:
        """An order has `begun`, is `finished`, or has failed with the text `state`."""
        self._end_measuring()
        now, name = time.monotonic(), order.unit.name
        if state == "begun":
            self._begun[name] = now
            self._progress.start_task(self._bar(UNITS))
        else:
            self._done += 1
            took_s = now - self._begun.pop(name, now)
            outcome = state if state == "finished" else f"failed: {state}"
            self._say(f"{self._count()}: {name}: {outcome} after {_duration(took_s)}{self._left(now)}")
        self._progress.update(
            self._bar(UNITS),
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

    def _end_measuring(self) -> None:
        if self._measuring is not None:
            self._measuring.remove()
            self._measuring = None

    def _say(self, text: str) -> None:
        if not self._console.is_terminal:
            self._console.print(text)


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
