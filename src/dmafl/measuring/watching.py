"""Who sees how measuring goes: a view that draws bars, or nobody."""

from __future__ import annotations

from typing import Protocol


class Watcher(Protocol):
    """Sees how measuring goes."""

    def stage(self, task: str, text: str) -> None:
        """The constants of `task` are being measured; `text` says which."""
        ...

    def probes(self, task: str, done: int, total: int) -> None:
        """So many of the probes of `task` are there already."""
        ...

    def probed(self, task: str) -> None:
        """One more probe of `task` is done."""
        ...


class Silent:
    """A watcher that says nothing."""

    def stage(self, task: str, text: str) -> None:
        """Nothing."""

    def probes(self, task: str, done: int, total: int) -> None:
        """Nothing."""

    def probed(self, task: str) -> None:
        """Nothing."""
