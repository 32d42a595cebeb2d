"""How a run is carried out, and who sees it; none of it changes results."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol

from dmafl.base import watching
from dmafl.experiments.run.trackers import Tracker
from dmafl.simulation.scheme_run import SchemeRun

CHECKPOINT_EVERY_S = 20.0


class Watcher(Protocol):
    """Sees how a run goes; draws bars, or does nothing."""

    def part(self, text: str) -> AbstractContextManager[watching.Watcher]:
        """Who watches what is measured before the run."""
        ...

    def scheme_runs(self, names: Sequence[str]) -> None:
        """These are the names of all schemes' runs."""
        ...

    def step(self, scheme_run: SchemeRun) -> None:
        """An event of `scheme_run` was handled."""
        ...

    def finished(self, name: str, status: str) -> None:
        """The run of a scheme has ended."""
        ...


class Silent:
    """A watcher that shows nothing."""

    def part(self, text: str) -> AbstractContextManager[watching.Watcher]:
        """Show nothing of the part either."""
        return nullcontext(watching.Silent())

    def scheme_runs(self, names: Sequence[str]) -> None:
        """Show nothing."""

    def step(self, scheme_run: SchemeRun) -> None:
        """Show nothing."""

    def finished(self, name: str, status: str) -> None:
        """Show nothing."""


@dataclass(frozen=True)
class Settings:
    """How a run is carried out; none of it changes its results."""

    workers: int = 1
    checkpoint_every_s: float = CHECKPOINT_EVERY_S
    watcher: Watcher = field(default_factory=Silent)
    trackers: tuple[Tracker, ...] = ()
