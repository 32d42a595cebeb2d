"""How a run is carried out, and who watches it; none of it changes results."""

from __future__ import annotations

from dataclasses import dataclass, field

from dmafl.base.watching import Watcher
from dmafl.experiments.executors.executor import Executor
from dmafl.experiments.executors.local import Local
from dmafl.experiments.run.trackers import Tracker

CHECKPOINT_EVERY_S = 20.0
SCHEME_RUNS = "scheme runs"
"""What a watcher of a run calls the pieces of its work."""


@dataclass(frozen=True)
class Settings:
    """How a run is carried out; none of it changes its results."""

    workers: int = 1
    """Processes of this machine that train, or that measure for an executor elsewhere."""
    on: Executor = field(default_factory=Local)
    """Where schemes and seeds are run."""
    at_once: int | None = None
    """How many of them at a time on an executor elsewhere; None: as many as there are places."""
    checkpoint_every_s: float = CHECKPOINT_EVERY_S
    """0: after every event that writes a row."""
    watcher: Watcher = field(default_factory=Watcher)
    trackers: tuple[Tracker, ...] = ()
