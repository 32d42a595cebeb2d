"""Small runs into a folder, and the same stopped on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dmafl
from dmafl.base.watching import Watcher
from support.brought import run_with
from support.small_runs import dataset, scenario, softmax


def run(output: Path, **more: Any) -> dmafl.Run:
    """A small run into a folder."""
    small = more.pop("scenario", scenario())
    stuff = {
        "models": dict.fromkeys(small.tasks, softmax),
        "datasets": {name: dataset() for name in small.tasks},
        "schemes": ["fedasync", "fedbuff"],
    }
    return run_with(small, output=output, **{**stuff, **more})


class Stop(Exception):
    """Raised to end a run from within."""


class StopsAfter(Watcher):
    """A watcher that lets a run crash after some events."""

    def __init__(self, events: int) -> None:
        self.left = events

    def advanced(self, name: str, piece: str, progress: Any) -> None:
        self.left -= 1
        if self.left < 0:
            raise Stop


def stop_early(folder: Path, events: int = 25, **more: Any) -> None:
    """A run that crashes after some events, with everything saved by then."""
    with pytest.raises(Stop):
        run(folder, watcher=StopsAfter(events), checkpoint_every_s=0.0, **more)
