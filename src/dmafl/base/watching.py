"""Who sees how long work goes: a view that draws bars, or nobody."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol


class Watcher(Protocol):
    """Sees how measuring, a sweep or a study goes. `name` says which count is meant: a task, `points`, `units`."""

    def stage(self, name: str, text: str) -> None:
        """What is being done for `name` now."""
        ...

    def total(self, name: str, pieces: int, done: int) -> None:
        """So many pieces of `name` are wanted, and so many of them are there already."""
        ...

    def begun(self, name: str, piece: str) -> None:
        """A piece has begun."""
        ...

    def ended(self, name: str, piece: str, problem: str = "") -> None:
        """A piece has ended, with a problem or without."""
        ...

    def part(self, text: str) -> AbstractContextManager[Watcher]:
        """Who watches a part of the work that has counts of its own; `text` names the part."""
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
