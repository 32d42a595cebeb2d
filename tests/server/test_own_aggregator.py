"""A scheme with memory per device, written in a few lines, stopped and resumed to the same bits."""

from __future__ import annotations

import inspect
import signal
from pathlib import Path
from typing import Any

import dmafl
from dmafl.base.processes.stopping import Interrupted
from dmafl.base.watching import Watcher
from dmafl.schemes.asynchronous import UniformIdle
from dmafl.schemes.draws import Drawn
from dmafl.server.policy import Policy
from dmafl.world.world import World
from support import latest_of_all
from support.brought import run_with
from support.latest_of_all import LatestOfAll
from support.scripted_transport import update, vector
from support.small_runs import dataset, scenario, softmax

MOST_STOPS = 500
"""A run of these sizes that stops more often does not go on."""
SMALL = scenario(
    {
        "one": {"slots": 14, "drift": {"kind": "growth", "start_fraction": 0.5}, "window_s": 0.2},
        "two": {"slots": 6},
    },
    devices=5,
)


def policies(world: World) -> list[Policy]:
    drawn = Drawn.of(world)
    return [UniformIdle(world, task, drawn, LatestOfAll()) for task in range(world.task_count)]


def run(folder: Path, **more: Any) -> dmafl.Run:
    given = {"models": dict.fromkeys(SMALL.tasks, softmax), "datasets": dict.fromkeys(SMALL.tasks, dataset())}
    return run_with(
        SMALL,
        schemes=["latest"],
        own_schemes={"latest": policies},
        output=folder,
        checkpoint_every_s=0,
        **given,
        **more,
    )


class Impatient(Watcher):
    """Asks for a stop after a few events."""

    def __init__(self, events: int) -> None:
        self._left = events

    def advanced(self, name: str, piece: str, progress: Any) -> None:
        self._left -= 1
        if self._left == 0:
            signal.raise_signal(signal.SIGTERM)


def outputs(folder: Path) -> dict[str, bytes]:
    files = [folder / "metrics.parquet", folder / "periods.parquet", *sorted((folder / "models").iterdir())]
    return {file.name: file.read_bytes() for file in files}


def test_by_hand() -> None:
    """Device 1 has 3 samples, device 0 has 1; then device 0 sends another model, of 2 samples."""
    rule = LatestOfAll()
    rule.add(vector(9.0), update(vector(1.0), vector(0.0))._replace(samples=1), 0)
    model, weight = rule.add(vector(9.0), update(vector(5.0), vector(0.0), device=1)._replace(samples=3), 1)
    assert (model.tolist(), weight) == ([4.0], 0.75)
    model, weight = rule.add(vector(9.0), update(vector(0.0), vector(0.0))._replace(samples=2), 2)
    assert (model.tolist(), weight) == ([3.0], 0.4)


def test_it_takes_forty_lines() -> None:
    assert len(inspect.getsource(latest_of_all).splitlines()) <= 40


def test_stopped_and_resumed_it_ends_with_the_same_bits(tmp_path: Path) -> None:
    whole = run(tmp_path / "whole")
    rows = whole.periods.to_pylist()
    samples = {row["samples"] for row in rows if row["task"] == "one"}
    assert len(samples) > 1, "the test would miss that samples reach the aggregator"
    taken = [row for row in rows if row["task"] == "two" and row["slot"] >= 0]
    devices = {row["device"] for row in taken}
    assert (taken[0]["mix_weight"], taken[-1]["mix_weight"]) == (1.0, 1 / len(devices))
    stopped = 0
    for _ in range(MOST_STOPS):
        try:
            run(tmp_path / "stopped", watcher=Impatient(3), resume=stopped > 0)
            break
        except Interrupted:
            stopped += 1
    assert stopped > 5
    assert outputs(tmp_path / "stopped") == outputs(tmp_path / "whole")
