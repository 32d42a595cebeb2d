"""Who trains next where a plan is carried out, and the rest of a task planned anew every so many aggregations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dmafl.schedule.jobs import Schedule
from dmafl.schemes.scheduled import Scheduled
from dmafl.server.messages import Dispatch, Plain
from dmafl.world.world import World

Revise = Callable[[int, Schedule, int, float], Schedule]
"""(task, its jobs, how many of its first slots stay, now) -> its jobs, planned anew from there."""


class Online(Scheduled):
    """Jobs of a task that are planned anew every `every` aggregations; what a device was ordered to do stays."""

    def __init__(self, world: World, task: int, schedule: Schedule, every: int, revise: Revise) -> None:
        super().__init__(world, task, schedule)
        self._world, self._task, self._every, self._revise = world, task, every, revise
        self._jobs = schedule.of_task(task)
        self._done = 0

    @property
    def jobs(self) -> Schedule:
        """The jobs of the task as they are planned by now."""
        return self._jobs

    def on_idle(self, device: int | None, now: float, aggregated: bool) -> Sequence[Dispatch]:
        """The device's next job, of a new plan if it is time for one."""
        orders = list(super().on_idle(device, now, aggregated))
        if aggregated:
            self._done += 1
            if self._done % self._every == 0:
                orders += self._planned_anew(now)
        return orders

    def state(self) -> Plain:
        """What a checkpoint needs."""
        columns = {name: column.tolist() for name, column in self._jobs.columns().items()}
        return {**super().state(), "jobs": columns, "done": self._done}

    def restore(self, state: Plain) -> None:
        """Go on from `state`."""
        super().restore(state)
        self._jobs, self._done = Schedule.from_columns(state["jobs"]), int(state["done"])

    def _planned_anew(self, now: float) -> list[Dispatch]:
        """New jobs for all slots after the last that a device was ordered to complete; they start if they can.

        Jobs of slots before that, which wait for their devices, stay as they are.
        """
        last_ordered = max((order.slot for order in self._busy.values()), default=-1)
        kept = max(last_ordered + 1, self._done)
        if kept >= len(self._jobs) - 1 or self._gone:
            return []
        waiting = [order.slot for queue in self._queues.values() for order in queue if order.slot < kept]
        self._jobs = self._revise(self._task, self._jobs, kept, now)
        ahead = (self._jobs.slot >= kept) | np.isin(self._jobs.slot, waiting)
        self._queues = Scheduled(self._world, self._task, self._jobs.take(ahead))._queues
        return [
            order for device in list(self._queues) if device not in self._busy for order in self._next(device)
        ]
