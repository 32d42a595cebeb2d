"""What a run writes down: a row a test, a row a local period."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from dmafl.base.errors import BadInput
from dmafl.learning.arrays import Vector
from dmafl.server.core import Taken
from dmafl.server.messages import Plain
from dmafl.simulation.clock import VirtualClock
from dmafl.simulation.gradient_norm_mean import GradientNormMean
from dmafl.simulation.observer import Observer
from dmafl.simulation.period import Period
from dmafl.training.trainer import Tested, TestingOrder
from dmafl.training.workers import Pending, Workers
from dmafl.world.physics.stream import streamed_share
from dmafl.world.world import World

METRICS = pa.schema(
    [
        ("scheme", pa.string()),
        ("seed", pa.int64()),
        ("task", pa.string()),
        ("aggregation", pa.int64()),
        ("time_s", pa.float64()),
        ("accuracy", pa.float64()),
        ("loss", pa.float64()),
        ("energy_J", pa.float64()),
        ("uplink_J", pa.float64()),
        ("compute_J", pa.float64()),
        ("downlink_J", pa.float64()),
        ("test_samples", pa.int64()),
        ("predicted_loss", pa.float64()),
        ("grad_norm2", pa.float64()),
        ("bound_printed", pa.float64()),
        ("bound_sharp", pa.float64()),
    ]
)
PERIODS = pa.schema(
    [
        ("scheme", pa.string()),
        ("seed", pa.int64()),
        ("task", pa.string()),
        ("device", pa.int64()),
        ("version", pa.int64()),
        ("slot", pa.int64()),
        ("steps", pa.int64()),
        ("batch", pa.int64()),
        ("frequency_Hz", pa.float64()),
        ("start_s", pa.float64()),
        ("idle_s", pa.float64()),
        ("download_s", pa.float64()),
        ("compute_s", pa.float64()),
        ("upload_s", pa.float64()),
        ("end_s", pa.float64()),
        ("uplink_J", pa.float64()),
        ("compute_J", pa.float64()),
        ("downlink_J", pa.float64()),
        ("staleness", pa.int64()),
        ("mix_weight", pa.float64()),
        ("wait_s", pa.float64()),
        ("samples", pa.int64()),
        ("outcome", pa.string()),
    ]
)
QUALITY = ("predicted_loss", "bound_printed", "bound_sharp")
"""Columns that follow from periods and measured constants; they are filled in when a run has ended."""
AGGREGATED, DIVERGED = TAKEN = "aggregated", "diverged"
"""Outcomes of periods whose upload the server took; a model that is not finite changes nothing."""
NOT_AGGREGATED = -1
"""Slot and staleness of a period whose local model was never aggregated."""


@dataclass
class _Test:
    row: dict[str, Any]
    task: int
    work: float
    """alpha eta e of the jobs since the test before."""
    outcome: Pending[Tested]
    settled: bool = False


class Records:
    """Notes what the server and the clock report, orders the tests, and hands out finished rows."""

    def __init__(
        self,
        scheme: str,
        seed: int,
        clock: VirtualClock,
        workers: Workers,
        watched: Sequence[Sequence[int]],
        observer: Observer,
    ) -> None:
        """`watched`: of each task, the devices whose data the gradient of the global loss is estimated from."""
        self._scheme, self._seed, self._clock, self._workers = scheme, seed, clock, workers
        world = clock.world
        self._names = world.task_names
        self._slots = world.slots.tolist()
        self._every = world.scenario.evaluation.every
        settings = list(world.scenario.tasks.values())
        self._rate = [task.learning_rate for task in settings]
        self._watched, self._observer = watched, observer
        # alpha eta e of the jobs in models made since the last test, and of those that wait for the next model.
        self._work, self._gathered = [0.0] * len(settings), [0.0] * len(settings)
        self._gradient_norm_means = [GradientNormMean() for _ in settings]
        self._tested = [-1] * len(settings)  # the version last tested
        self._tests: list[_Test] = []
        self._periods: list[dict[str, Any]] = []
        self.last: dict[int, Tested] = {}
        self.diverged = [0] * len(settings)  # local models that were not finite
        self.losses: list[dict[str, Any]] = []
        self.models: dict[int, tuple[int, Vector]] = {}
        clock.listen(self.unfinished, self.tick)

    # -- what the server reports ----------------------------------------------------------------------

    def on_update(self, taken: Taken, now: float) -> None:
        """A local model was taken: its period is complete."""
        row = self._row(self._clock.arrived_period(), now, AGGREGATED if taken.finite else DIVERGED)
        self._periods.append(
            row | {"slot": taken.slot, "staleness": taken.staleness, "mix_weight": taken.weight}
        )
        order = taken.job.dispatch
        if not taken.finite:
            self.diverged[order.task] += 1
            return
        self._gathered[order.task] += taken.weight * self._rate[order.task] * order.steps
        self._observer.on_update(order.task, order.device, taken.received, taken.local, order.steps)

    def on_aggregation(self, task: int, version: int, model: Vector, now: float) -> None:
        """A global model was made: test it if it is its turn, on everything if it is the last."""
        last = version == self._slots[task]
        self.models[task] = (version, model)
        self._work[task] += self._gathered[task]
        self._gathered[task] = 0.0
        if version % self._every == 0 or last:
            self._test(task, last)

    def ended(self) -> None:
        """The run is over: a task that its window or its batteries stopped is tested where it stands."""
        for task, (version, _) in self.models.items():
            if self._tested[task] < version:
                self._test(task, everything=True)

    def tick(self) -> None:
        """A time has come at which all tasks are tested that are not done."""
        for task, (version, _) in self.models.items():
            if version < self._slots[task]:
                self._test(task, everything=False)

    def _test(self, task: int, everything: bool) -> None:
        version, model = self.models[task]
        self._tested[task] = version
        now = self._clock.now
        uplink, compute, downlink = self._clock.ledger.task_J(task)
        row = {
            "scheme": self._scheme,
            "seed": self._seed,
            "task": self._names[task],
            "aggregation": version,
            "time_s": now,
            "energy_J": uplink + compute + downlink,
            "uplink_J": uplink,
            "compute_J": compute,
            "downlink_J": downlink,
        }
        local_shares = self._clock.shares(task, self._watched[task])
        share = share_of_test(self._clock.world, task, version, now)
        order = TestingOrder(task, share, everything, local_shares)
        work, self._work[task] = self._work[task], 0.0
        self._tests.append(_Test(row, task, work, self._workers.test(self._seed, order, model)))

    def on_device_lost(self, task: int, device: int, reason: str, now: float) -> None:
        """A device will not be asked again for the task."""
        self.losses.append({"task": self._names[task], "device": device, "reason": reason, "time_s": now})

    def unfinished(self, period: Period, outcome: str) -> None:
        """A period ended without an aggregation; what it cost is written down all the same."""
        self._periods.append(self._row(period, self._clock.now, outcome))

    # -- rows -----------------------------------------------------------------------------------------

    @property
    def row_count(self) -> int:
        """Rows since the last call of `take_rows`."""
        return len(self._periods) + len(self._tests)

    def settle_tests(self) -> None:
        """Compute the tests that are still open, and add them up in their order."""
        for test in self._tests:
            if test.settled:
                continue
            self._finish(test)
            test.row["grad_norm2"] = self._gradient_norm_means[test.task].tested(
                test.work, test.outcome.result().gradient_norm2
            )
            row = test.row
            self._observer.on_test(test.task, row["aggregation"], row["time_s"], row["loss"])
            test.settled = True

    def drop_failed_tests(self) -> None:
        """Forget tests that cannot be computed, because a model has diverged."""
        kept = []
        for test in self._tests:
            try:
                self._finish(test)
            except BadInput:
                break
            kept.append(test)
        self._tests = kept

    def progress(self) -> dict[str, float]:
        """The last accuracy known of each task."""
        for test in self._tests:
            if test.outcome.done() and "loss" not in test.row:
                self._finish(test)
        return {self._names[task]: tested.accuracy for task, tested in self.last.items()}

    def take_rows(self) -> tuple[pa.Table, pa.Table]:
        """The finished rows of metrics and periods since the last call."""
        self.settle_tests()
        metrics = pa.Table.from_pylist([test.row for test in self._tests], schema=METRICS)
        periods = pa.Table.from_pylist(self._periods, schema=PERIODS)
        self._tests, self._periods = [], []
        return metrics, periods

    def _finish(self, test: _Test) -> None:
        tested = test.outcome.result()
        test.row |= {"accuracy": tested.accuracy, "loss": tested.loss, "test_samples": tested.samples}
        self.last[test.task] = tested

    # -- checkpoint -----------------------------------------------------------------------------------

    def state(self) -> Plain:
        """What goes on from row to row; rows must have been taken, so that no test is open."""
        return {
            "lost": self.losses,
            "diverged": self.diverged,
            "tested": self._tested,
            "work": self._work,
            "gathered": self._gathered,
            "left_sides": [one.plain() for one in self._gradient_norm_means],
        }

    def restore(self, state: Plain) -> None:
        """Go on from `state`."""
        self.losses, self.diverged = list(state["lost"]), list(state["diverged"])
        self._tested = list(state["tested"])
        self._work, self._gathered = list(state["work"]), list(state["gathered"])
        self._gradient_norm_means = [GradientNormMean(**one) for one in state["left_sides"]]

    def _row(self, period: Period, end_s: float, outcome: str) -> dict[str, Any]:
        order = period.job.dispatch
        batch = min(order.batch, period.samples) if period.samples else order.batch
        return {
            "scheme": self._scheme,
            "seed": self._seed,
            "task": self._names[order.task],
            "device": order.device,
            "version": period.job.version,
            "slot": NOT_AGGREGATED,
            "steps": order.steps,
            "batch": batch,
            "frequency_Hz": period.frequency_Hz or order.frequency_Hz,
            "start_s": period.start_s,
            "idle_s": period.idle_s,
            "download_s": period.download_s,
            "compute_s": period.compute_s,
            "upload_s": period.upload_s,
            "end_s": end_s,
            "uplink_J": period.uplink_J,
            "compute_J": period.compute_J,
            "downlink_J": period.downlink_J,
            "staleness": NOT_AGGREGATED,
            "mix_weight": 0.0,
            "wait_s": period.wait_s,
            "samples": period.samples,
            "outcome": outcome,
        }


def share_of_test(world: World, task: int, version: int, now: float) -> float:
    """How far the stream of a device that never computes has come: what the test data follow."""
    name = world.task_names[task]
    drift = world.scenario.tasks[name].drift
    if drift.per_aggregation:
        return float(min(version / max(1, int(world.slots[task]) - 1), 1.0))
    window_s = float(world.devices.window_s[:, task].max())
    return float(min(streamed_share(now, 0.0, window_s, drift.idle_rate, drift.active_rate), 1.0))
