"""A run without training: which jobs a scheme would carry out in a world, and when."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmafl.learning.arrays import Vector
from dmafl.schedule.jobs import Schedule
from dmafl.server.core import Server, Taken
from dmafl.server.messages import Job
from dmafl.server.policy import Policy
from dmafl.simulation.clock import VirtualClock
from dmafl.world.world import World


def dry_run(world: World, policies: list[Policy]) -> Schedule:
    """The jobs that `policies` complete, one a slot."""
    model = np.zeros(1, dtype=np.float32)
    clock = VirtualClock(world, _Untrained(model))
    notes = _Notes(clock)
    server = Server([model] * world.task_count, world.slots.tolist(), policies, clock, notes)
    for _ in server.run():
        pass
    return Schedule.from_jobs(notes.jobs)


class _Untrained:
    """A trainer that has nothing to do, and its result."""

    def __init__(self, model: Vector) -> None:
        self._model = model

    def train(self, job: Job, model: Vector, share: float) -> _Untrained:
        return self

    def done(self) -> bool:
        return True

    def result(self) -> Vector:
        return self._model


class _Notes:
    """Notes every job that is taken."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.jobs: list[dict[str, Any]] = []

    def on_update(self, taken: Taken, now: float) -> None:
        period = self._clock.arrived_period()
        order = period.job.dispatch
        self.jobs.append(
            {
                "task": order.task,
                "device": order.device,
                "version": period.job.version,
                "slot": taken.slot,
                "steps": order.steps,
                "batch": order.batch,
                "frequency_Hz": order.frequency_Hz,
                "start_s": period.start_s,
            }
        )

    def on_aggregation(self, task: int, version: int, model: Vector, now: float) -> None:
        pass

    def on_device_lost(self, task: int, device: int, reason: str, now: float) -> None:
        pass
