"""Progress of long work, reported to a watcher: a view that draws bars, or one that shows nothing."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol


class Watcher(Protocol):
    """Receives the progress of a measurement, a sweep or a study. `name`: a task, `points` or `study runs`."""

    def stage(self, name: str, text: str) -> None:
        """What is being done for `name` now."""
        ...

    def total(self, name: str, pieces: int, done: int) -> None:
        """`name` has `pieces` pieces in all, of which `done` are done already."""
        ...

    def begun(self, name: str, piece: str) -> None:
        """A piece has begun."""
        ...

    def ended(self, name: str, piece: str, problem: str = "") -> None:
        """A piece has ended, with a problem or without."""
        ...

    def part(self, text: str) -> AbstractContextManager[Watcher]:
        """The watcher of a part of the work that has its own counts; `text` names the part."""
        ...


class Silent:
    """A watcher that shows nothing."""

    def stage(self, name: str, text: str) -> None:
        """Show nothing."""

    def total(self, name: str, pieces: int, done: int) -> None:
        """Show nothing."""

    def begun(self, name: str, piece: str) -> None:
        """Show nothing."""

    def ended(self, name: str, piece: str, problem: str = "") -> None:
        """Show nothing."""

    def part(self, text: str) -> AbstractContextManager[Watcher]:
        """Show nothing of the part either."""
        return nullcontext(self)
