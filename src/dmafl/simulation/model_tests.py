"""Tests of the global models of a run: when they are ordered, and one row per test when they are there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dmafl.base.errors import BadInput
from dmafl.learning.arrays import Vector
from dmafl.server.messages import Plain
from dmafl.simulation.gradient_norm_mean import GradientNormMean
from dmafl.simulation.observer import Observer
from dmafl.simulation.run_name import RunName
from dmafl.simulation.run_transport import Meter
from dmafl.training.trainer import Tested, TestingOrder
from dmafl.training.workers import Pending, Workers
from dmafl.world.world import World


@dataclass
class _Test:
    row: dict[str, Any]
    task: int
    work: float
    """alpha eta e of the jobs since the test before."""
    outcome: Pending[Tested]
    complete: bool = False


class ModelTests:
    """Orders a test of every n-th global model, and of the last on all test data; hands out finished rows."""

    def __init__(
        self,
        name: RunName,
        world: World,
        meter: Meter,
        workers: Workers,
        watched: Sequence[Sequence[int]] | None,
        observer: Observer,
    ) -> None:
        """`watched`: of each task, the devices whose data the gradient of the global loss is estimated from.

        None: no gradient is estimated.
        """
        self._name, self._world, self._meter, self._workers = name, world, meter, workers
        self._watched, self._observer = watched, observer
        self._slots = world.slots.tolist()
        self._every = world.scenario.evaluation.every
        # alpha eta e of the jobs in models made since the last test, and of those that wait for the next model.
        self._work, self._gathered = [0.0] * world.task_count, [0.0] * world.task_count
        self._gradient_norm_means = [GradientNormMean() for _ in self._slots]
        self._tested = [-1] * world.task_count  # the version last tested
        self._tests: list[_Test] = []
        self.last: dict[int, Tested] = {}
        """The last outcome known of each task."""
        self.models: dict[int, tuple[int, Vector]] = {}
        """The current version and model of each task."""

    def __len__(self) -> int:
        return len(self._tests)

    def add_work(self, task: int, work: float) -> None:
        """A local model has weight alpha eta e = `work` in the next global one."""
        self._gathered[task] += work

    def on_aggregation(self, task: int, version: int, model: Vector) -> None:
        """A global model was made: test it if it is its turn, on everything if it is the last."""
        last = version == self._slots[task]
        self.models[task] = (version, model)
        self._work[task] += self._gathered[task]
        self._gathered[task] = 0.0
        if version % self._every == 0 or last:
            self._order(task, last)

    def on_tick(self) -> None:
        """A time has come at which all tasks are tested that are not done."""
        for task, (version, _) in self.models.items():
            if version < self._slots[task]:
                self._order(task, everything=False)

    def on_end(self) -> None:
        """The run is over: a task that its window or its batteries stopped is tested where it stands."""
        for task, (version, _) in self.models.items():
            if self._tested[task] < version:
                self._order(task, everything=True)

    def _order(self, task: int, everything: bool) -> None:
        version, model = self.models[task]
        self._tested[task] = version
        now = self._meter.now
        phases_J = uplink, compute, downlink = self._meter.energy_J(task)
        row = {
            "scheme": self._name.scheme,
            "seed": self._name.seed,
            "task": self._world.task_names[task],
            "aggregation": version,
            "time_s": now,
            "energy_J": total_J(phases_J),
            "uplink_J": uplink,
            "compute_J": compute,
            "downlink_J": downlink,
        }
        local_progress = None
        if self._watched is not None:
            local_progress = self._meter.stream_progress(task, self._watched[task])
        progress = self._world.progress_of_test(task, version, now)
        order = TestingOrder(task, progress, everything, local_progress)
        work, self._work[task] = self._work[task], 0.0
        self._tests.append(_Test(row, task, work, self._workers.test(self._name.seed, order, model)))

    def _complete(self) -> None:
        """Wait for the tests that are still open, and complete their rows in order."""
        for test in self._tests:
            if test.complete:
                continue
            self._finish(test)
            test.row["grad_norm2"] = self._gradient_norm_means[test.task].tested(
                test.work, test.outcome.result().gradient_norm2
            )
            row = test.row
            self._observer.on_test(test.task, row["aggregation"], row["time_s"], row["loss"])
            test.complete = True

    def drop_failed(self) -> None:
        """Forget tests that cannot be computed, because a model has diverged."""
        kept = []
        for test in self._tests:
            try:
                self._finish(test)
            except BadInput:
                break
            kept.append(test)
        self._tests = kept

    def accuracies(self) -> dict[str, float]:
        """The last accuracy known of each task."""
        for test in self._tests:
            if test.outcome.done() and "loss" not in test.row:
                self._finish(test)
        return {self._world.task_names[task]: tested.accuracy for task, tested in self.last.items()}

    def take_rows(self) -> list[dict[str, Any]]:
        """The finished rows since the last call."""
        self._complete()
        rows, self._tests = [test.row for test in self._tests], []
        return rows

    def _finish(self, test: _Test) -> None:
        tested = test.outcome.result()
        test.row |= {"accuracy": tested.accuracy, "loss": tested.loss, "test_samples": tested.samples}
        self.last[test.task] = tested

    def state(self) -> Plain:
        """What goes on from row to row; rows must have been taken, so that no test is open."""
        return {
            "tested": self._tested,
            "work": self._work,
            "gathered": self._gathered,
            "gradient_norm_means": [mean.plain() for mean in self._gradient_norm_means],
        }

    def restore(self, state: Plain) -> None:
        """Go on from `state`."""
        self._tested = list(state["tested"])
        self._work, self._gathered = list(state["work"]), list(state["gathered"])
        self._gradient_norm_means = [GradientNormMean(**mean) for mean in state["gradient_norm_means"]]


def total_J(phases_J: Sequence[float | None]) -> float | None:
    """The sum of energies [J]; None where one of them was not measured."""
    total = 0.0
    for energy_J in phases_J:
        if energy_J is None:
            return None
        total += energy_J
    return total
