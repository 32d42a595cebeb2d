"""A run without training: which jobs a scheme would carry out in a world, and when."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmafl.learning.arrays import Vector
from dmafl.schedule.jobs import Schedule
from dmafl.server.core import Server
from dmafl.server.messages import Job, Period
from dmafl.server.policy import Policy
from dmafl.server.recorder import Taken
from dmafl.server.updates import UpdateCheck
from dmafl.simulation.clock import VirtualClock
from dmafl.world.world import World


def dry_run(world: World, policies: list[Policy]) -> Schedule:
    """The jobs that `policies` complete, one per slot."""
    model = np.zeros(1, dtype=np.float32)
    clock = VirtualClock(world, _Untrained(model))
    notes = _Notes()
    server = Server([model] * world.task_count, world.slots.tolist(), policies, clock, notes)
    for _ in server.run():
        pass
    return Schedule.from_jobs(notes.jobs)


class _Untrained:
    """A trainer that has nothing to do, and its result."""

    def __init__(self, model: Vector) -> None:
        self._model = model

    def train(self, job: Job, model: Vector, progress: float) -> _Untrained:
        return self

    def done(self) -> bool:
        return True

    def result(self) -> Vector:
        return self._model


class _Notes:
    """Notes every job that is taken."""

    def __init__(self) -> None:
        self.jobs: list[dict[str, Any]] = []

    def on_update(self, taken: Taken, now: float) -> None:
        order = taken.job.dispatch
        self.jobs.append(
            {
                "task": order.task,
                "device": order.device,
                "version": taken.job.version,
                "slot": taken.slot,
                "steps": order.steps,
                "batch": order.batch,
                "frequency_Hz": order.frequency_Hz,
                "start_s": taken.period.start_s,
            }
        )

    def on_refused(self, job: Job, period: Period, check: UpdateCheck, now: float) -> None:
        pass

    def on_unfinished(self, job: Job, period: Period, outcome: str, now: float) -> None:
        pass

    def on_tick(self, now: float) -> None:
        pass

    def on_aggregation(self, task: int, version: int, model: Vector, now: float) -> None:
        pass

    def on_device_lost(self, task: int, device: int, reason: str, now: float) -> None:
        pass

    def on_device_left(self, device: int, now: float) -> None:
        pass

    def on_device_joined(self, device: int, now: float) -> None:
        pass
