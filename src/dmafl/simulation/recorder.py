"""The recorder of a run: one row per local period, one row per test, and what was lost, diverged or refused."""

from __future__ import annotations

import logging
from collections import Counter
from typing import Any

import pyarrow as pa

from dmafl.learning.arrays import Vector
from dmafl.server.messages import LEFT, Job, Period, Plain
from dmafl.server.recorder import Taken
from dmafl.server.updates import UpdateCheck
from dmafl.simulation.model_tests import ModelTests
from dmafl.simulation.observer import Observer
from dmafl.simulation.records import AGGREGATED, DIVERGED, METRICS, NOT_AGGREGATED, PERIODS
from dmafl.simulation.run_name import RunName
from dmafl.world.world import World

log = logging.getLogger(__name__)
FOR_GOOD = ("battery", "window")
"""Why a device gets no more orders of a task, also when it leaves and returns."""


class RunRecorder:
    """Notes what the server reports, has its models tested, and hands out finished rows."""

    def __init__(self, name: RunName, world: World, tests: ModelTests, observer: Observer) -> None:
        self.tests = tests
        self._name, self._observer = name, observer
        self._tasks = world.task_names
        self._learning_rates = [task.learning_rate for task in world.scenario.tasks.values()]
        self._periods: list[dict[str, Any]] = []
        self.diverged = [0] * len(self._tasks)
        """Local models of each task that were not finite."""
        self.clipped = [0] * len(self._tasks)
        """Local models of each task whose change was scaled down."""
        self.refused: Counter[str] = Counter()
        """Local models that were left out, by reason."""
        self.losses: list[dict[str, Any]] = []
        self._lost: set[tuple[int, int]] = set()
        self.absences: list[dict[str, Any]] = []
        """When devices left, and when they returned."""
        self._away: dict[int, dict[str, Any]] = {}
        """The absences that go on."""

    def on_update(self, taken: Taken, now: float) -> None:
        """A local model was taken: its period is complete."""
        row = self._row(taken.job, taken.period, now, AGGREGATED if taken.finite else DIVERGED)
        self._periods.append(
            row | {"slot": taken.slot, "staleness": taken.staleness, "mix_weight": taken.weight}
        )
        order = taken.job.dispatch
        how = row["steps"], row["batch"], row["frequency_Hz"], row["compute_s"]
        self._observer.on_period(order.task, order.device, *how)
        if not taken.finite:
            self.diverged[order.task] += 1
            return
        self.clipped[order.task] += taken.clipped
        self.tests.add_work(order.task, taken.weight * self._learning_rates[order.task] * order.steps)
        self._observer.on_update(order.task, order.device, taken.received, taken.local, order.steps)

    def on_refused(self, job: Job, period: Period, check: UpdateCheck, now: float) -> None:
        """A local model was left out: counted, logged, and written down where it was the end of a job."""
        log.info("the update of job %.40r is refused: %s", job.id, check.value)
        self.refused[check.value] += 1
        if check.ends_job:
            self._periods.append(self._row(job, period, now, f"refused: {check.value}"))

    def on_unfinished(self, job: Job, period: Period, outcome: str, now: float) -> None:
        """A period ended without an aggregation; what it cost is written down all the same."""
        self._periods.append(self._row(job, period, now, outcome))

    def on_aggregation(self, task: int, version: int, model: Vector, now: float) -> None:
        """A global model was made."""
        self.tests.on_aggregation(task, version, model)

    def on_device_lost(self, task: int, device: int, reason: str, now: float) -> None:
        """A device will not be asked again for the task; one that has left may be, and is among the absences."""
        loss = {"task": self._tasks[task], "device": device, "reason": reason, "time_s": now}
        if reason == LEFT or (reason in FOR_GOOD and (task, device) in self._lost):
            return
        self._lost.add((task, device))
        self.losses.append(loss)

    def on_device_left(self, device: int, now: float) -> None:
        """A device is away from now on."""
        self._away[device] = {"device": device, "left_s": now, "joined_s": None}
        self.absences.append(self._away[device])

    def on_device_joined(self, device: int, now: float) -> None:
        """A device is there again."""
        if device in self._away:
            self._away.pop(device)["joined_s"] = now

    def on_tick(self, now: float) -> None:
        """A time has come at which all models are tested."""
        self.tests.on_tick()

    @property
    def row_count(self) -> int:
        """Rows since the last call of `take_rows`."""
        return len(self._periods) + len(self.tests)

    def take_rows(self) -> tuple[pa.Table, pa.Table]:
        """The finished rows of metrics and periods since the last call."""
        metrics = pa.Table.from_pylist(self.tests.take_rows(), schema=METRICS)
        periods = pa.Table.from_pylist(self._periods, schema=PERIODS)
        self._periods = []
        return metrics, periods

    def state(self) -> Plain:
        """What goes on from row to row; rows must have been taken, so that no test is open."""
        return {
            "lost": self.losses,
            "absences": [dict(absence) for absence in self.absences],
            "diverged": self.diverged,
            "clipped": self.clipped,
            "refused": dict(self.refused),
            "tests": self.tests.state(),
        }

    def restore(self, state: Plain) -> None:
        """Go on from `state`."""
        self.losses, self.diverged = list(state["lost"]), list(state["diverged"])
        self._lost = {(self._tasks.index(loss["task"]), loss["device"]) for loss in self.losses}
        self.absences = [dict(absence) for absence in state["absences"]]
        self._away = {absence["device"]: absence for absence in self.absences if absence["joined_s"] is None}
        self.clipped = list(state["clipped"])
        self.refused = Counter(state["refused"])
        self.tests.restore(state["tests"])

    def _row(self, job: Job, period: Period, end_s: float, outcome: str) -> dict[str, Any]:
        order = job.dispatch
        return {
            "scheme": self._name.scheme,
            "seed": self._name.seed,
            "task": self._tasks[order.task],
            "device": order.device,
            "version": job.version,
            "slot": NOT_AGGREGATED,
            "steps": order.steps,
            "batch": min(order.batch, period.samples) if period.samples else order.batch,
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
