"""A scenario that is measured in a moment, and watchers of how that goes."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import dmafl
from dmafl.base.watching import Watcher
from dmafl.calibration.measured import Measured
from dmafl.scenario.model import Scenario
from support.brought import packed
from support.small_runs import dataset, network, scenario, softmax

FEW = 12
"""The fewest probes that a prediction can be fitted to."""
TWO_TASKS = scenario(
    {"a": {"slots": 20, "partition": "dirichlet", "samples": 12}, "b": {"slots": 7, "samples": 12}}, devices=3
)


def tiny(**task: Any) -> Scenario:
    """Three devices and one task of three classes."""
    return scenario({"one": {"partition": "dirichlet", "samples": 12, **task}}, devices=3)


def measured(of: Scenario, cache: Path | None, **given: Any) -> Measured:
    """The measurement of a tiny scenario, kept in `cache`."""
    settings = {
        "probes": FEW,
        "models": dict.fromkeys(of.tasks, softmax),
        "datasets": dict.fromkeys(of.tasks, dataset()),
        "cache": cache,
        "use_cache": cache is not None,
    }
    return dmafl.measure(of, **packed(**(settings | given)))


def outcome(of: Measured) -> dict[str, Any]:
    """Everything but the CPU time."""
    plain = of.plain()
    for task in plain["tasks"].values():
        task["cost"] |= {"constants_s": 0.0, "probes_s": 0.0}
    return plain


class CountingWatcher(Watcher):
    """Notes what a watcher is told."""

    def __init__(self) -> None:
        self.stages: list[str] = []
        self.totals: list[tuple[int, int]] = []
        self.done = 0

    def stage(self, name: str, text: str) -> None:
        self.stages.append(text)

    def total(self, name: str, pieces: int, done: int) -> None:
        self.totals.append((done, pieces))

    def ended(self, name: str, piece: str, problem: str = "") -> None:
        self.done += 1


class Stopping(CountingWatcher):
    """Presses Ctrl-C after some probes."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.after = after

    def ended(self, name: str, piece: str, problem: str = "") -> None:
        import os
        import signal

        super().ended(name, piece, problem)
        if self.done == self.after:
            os.kill(os.getpid(), signal.SIGINT)


def hidden_layer() -> Any:
    """Another module with as many inputs and outputs."""
    return network()


def without(found: Measured, task: str, **changes: Any) -> Measured:
    """The same with parts of a task replaced."""
    changed = dataclasses.replace(found.tasks[task], **changes)
    return Measured(found.key, {**found.tasks, task: changed})
