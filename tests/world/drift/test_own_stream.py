"""A user's own stream is one class with `local` and `test`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dmafl
from dmafl.base.errors import BadInput
from dmafl.scenario.model import Task
from dmafl.world.drift.streams import View
from support.brought import run_with
from support.small_runs import dataset, scenario, softmax


class Halves:
    """The first half of the samples until half of the window, then the second; tests lose their first 10 samples."""

    asked: list[tuple[int, float]] = []  # noqa: RUF012

    def __init__(self, task: Task, dealt: np.ndarray) -> None:
        self.dealt, self.half = dealt, task.samples // 2

    def local(self, device: int, progress: float) -> View:
        Halves.asked.append((device, progress))
        return View(self.dealt[device, : self.half] if progress < 0.5 else self.dealt[device, self.half :])

    def test(self, progress: float) -> View:
        return View(np.arange(10, 20) if progress >= 0.5 else None)


class Empty(Halves):
    """Nothing at all."""

    def local(self, device: int, progress: float) -> View:
        return View(self.dealt[device, :0])


def run(stream: type, output: Path) -> dmafl.Run:
    small = scenario({"one": {"window_s": 0.5, "slots": 12, "drift": {"kind": "none"}}})
    return run_with(
        small,
        schemes=["fedasync"],
        output=output,
        models={"one": softmax},
        datasets={"one": dataset()},
        streams={"one": stream},
    )


def test_own_stream(tmp_path: Path) -> None:
    Halves.asked.clear()
    done = run(Halves, tmp_path / "run")
    assert done.manifest.status == "finished"
    assert Halves.asked
    assert all(0.0 <= progress <= 1.0 for _, progress in Halves.asked)
    assert all(check.ok for check in dmafl.verify_run(done.path))
    before = run_with(
        done.scenario,
        schemes=["fedasync"],
        output=tmp_path / "still",
        models={"one": softmax},
        datasets={"one": dataset()},
    )
    assert before.metrics.column("loss").to_pylist() != done.metrics.column("loss").to_pylist()


def test_a_stream_without_samples_is_refused_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(
        BadInput, match=r"local data.*at least one sample; got none\. Give the device more data"
    ):
        run(Empty, tmp_path / "run")
    assert dmafl.Run(tmp_path / "run").manifest.status == "failed"


def test_periods_of_an_own_stream_say_how_many_samples_there_were(tmp_path: Path) -> None:
    """A batch of an own stream is cut to what the stream shows, and the row says so: energy follows the batch."""

    class Single(Halves):
        def local(self, device: int, progress: float) -> View:
            return View(self.dealt[device, :1])

    rows = run(Single, tmp_path / "run").periods.to_pylist()
    done = [row for row in rows if row["outcome"] == "aggregated"]
    assert {row["samples"] for row in done} == {1}
    assert {row["batch"] for row in done} == {1}
