"""Progress of long work, reported to a watcher: a view that draws bars, or one that shows nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple


class Amount(NamedTuple):
    """A quantity with its unit that shows how a piece of work goes; the value is None where it was not measured."""

    name: str
    value: float | None
    unit: str = ""


class PieceProgress(NamedTuple):
    """How far one piece of work has come: `done` steps `of` so many."""

    done: int
    of: int
    amounts: tuple[Amount, ...] = ()


class Watcher:
    """Receives the progress of a run, a measurement, a sweep or a study. This one shows nothing; views override it.

    `name` is what has pieces: a task (its probes), `scheme runs`, `points` or `study runs`.
    """

    def stage(self, name: str, text: str) -> None:
        """What is being done for `name`, a task or a scheme run, now."""

    def total(self, name: str, pieces: int, done: int) -> None:
        """`name` has `pieces` pieces in all, of which `done` are done already."""

    def begun(self, name: str, piece: str) -> None:
        """A piece has begun."""

    def advanced(self, name: str, piece: str, progress: Callable[[], PieceProgress]) -> None:
        """A piece has come further, perhaps thousands of times a second: call `progress` only when it is shown."""

    def ended(self, name: str, piece: str, problem: str = "") -> None:
        """A piece has ended, with a problem or without."""

    def part(self, text: str) -> AbstractContextManager[Watcher]:
        """The watcher of a part of the work that has its own counts; `text` names the part."""
        return nullcontext(self)
