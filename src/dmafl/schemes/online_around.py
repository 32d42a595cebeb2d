"""Who trains next where a plan is planned anew on the way, and devices may leave: around those that are away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass

import numpy as np

from dmafl.schedule.build import concatenate
from dmafl.schedule.jobs import Schedule
from dmafl.schemes.scheduled import Scheduled
from dmafl.server.messages import Dispatch, Plain
from dmafl.world.world import World


@dataclass(frozen=True, eq=False)
class Moment:
    """Where a task stands when the rest of it is planned anew."""

    task: int
    jobs: Schedule
    """Of all slots; those of the first ones as they happened or are under way."""
    ends_s: tuple[float, ...]
    """When these ended, or will [s]."""
    now: float
    away: frozenset[int]
    """Devices that get no job."""


ReviseAround = Callable[[Moment], Schedule]
"""The jobs of the task, all after the first ones planned anew."""


class OnlineAround(Scheduled):
    """Jobs of a task that are planned anew every `every` aggregations, and when devices leave or have returned.

    When a device leaves, its jobs are planned anew at once together with all that nobody was ordered to do; when one
    returns, at the next aggregation. Between two such plans lie at least half of `every` aggregations: until then
    other devices take over the jobs of one that leaves, as they are.
    """

    def __init__(
        self,
        world: World,
        task: int,
        schedule: Schedule,
        every: int,
        revise: ReviseAround,
        world_now: Callable[[], World] | None = None,
    ) -> None:
        """`world_now`: the world as it is known by then."""
        super().__init__(world, task, schedule)
        self._world_now = world_now
        self._world, self._task, self._every, self._revise = world, task, every, revise
        self._pause = max(1, every // 2)
        self._jobs = schedule.of_task(task)
        self._planned_at = -self._pause  # aggregations when the last plan was made
        self._changed = False  # whether a device has left or returned since then
        self._now = 0.0
        self._happened: list[Dispatch] = []
        self._ends_s: list[float] = []  # of these
        self._since_s: dict[int, float] = {}  # when each busy device got its order

    @property
    def jobs(self) -> Schedule:
        """The jobs of the task as they are planned by now."""
        return self._jobs

    def on_idle(self, device: int | None, now: float, aggregated: bool) -> Sequence[Dispatch]:
        """The device's next job, of a new plan if it is time for one."""
        self._now = now
        if device in self._busy:
            self._happened.append(self._busy[device])
            self._ends_s.append(now)
        orders = list(super().on_idle(device, now, aggregated))
        done = len(self._happened)
        regular = done % self._every == 0
        if aggregated and (regular or (self._changed and done - self._planned_at >= self._pause)):
            orders += self._planned_anew() or []
        return orders

    def on_device_lost(self, device: int, now: float) -> Sequence[Dispatch]:
        """Its jobs are planned anew with the others, or taken over where that was done just now."""
        self._now, self._changed = now, True
        if len(self._happened) - self._planned_at >= self._pause:
            self._gone.add(device)
            had = self._busy.pop(device, None), self._queues.pop(device, [])
            orders = self._planned_anew()
            if orders is not None:
                return orders
            if had[0] is not None:
                self._busy[device] = had[0]
            self._queues[device] = had[1]
        return super().on_device_lost(device, now)

    def on_device_joined(self, device: int, now: float) -> Sequence[Dispatch]:
        """The device has its part in the next plan; where nobody else is there, it begins at once."""
        self._now, self._changed = now, True
        return super().on_device_joined(device, now)

    def state(self) -> Plain:
        """What a checkpoint needs."""
        return {
            **super().state(),
            "jobs": {name: column.tolist() for name, column in self._jobs.columns().items()},
            "planned_at": self._planned_at,
            "changed": self._changed,
            "happened": [list(astuple(order)) for order in self._happened],
            "ends_s": list(self._ends_s),
            "since_s": [[device, since_s] for device, since_s in self._since_s.items()],
        }

    def restore(self, state: Plain) -> None:
        """Go on from `state`."""
        super().restore(state)
        self._jobs = Schedule.from_columns(state["jobs"])
        self._planned_at, self._changed = state["planned_at"], state["changed"]
        self._happened = [Dispatch(*order) for order in state["happened"]]
        self._ends_s = list(state["ends_s"])
        self._since_s = dict(state["since_s"])

    def _next(self, device: int) -> list[Dispatch]:
        orders = super()._next(device)
        if orders:
            self._since_s[device] = self._now
        return orders

    def _planned_anew(self) -> list[Dispatch] | None:
        """Orders of new jobs for all that nobody has begun; None where too little is left, or nobody is there."""
        under_way = sorted((self._end_s(order), device) for device, order in self._busy.items())
        kept = len(self._happened) + len(under_way)
        if kept >= len(self._jobs) - 1 or len(self._gone) >= self._devices:
            return None
        ends_s = (*self._ends_s, *(end_s for end_s, _ in under_way))
        orders = [*self._happened, *(self._busy[device] for _, device in under_way)]
        first = Schedule.from_jobs(
            {
                "task": self._task,
                "device": order.device,
                "version": slot,
                "slot": slot,
                "steps": order.steps,
                "batch": order.batch,
                "frequency_Hz": order.frequency_Hz,
                "start_s": order.start_s,
            }
            for slot, order in enumerate(orders)
        )
        jobs = concatenate([first, self._jobs.take(self._jobs.slot >= kept)])
        self._jobs = self._revise(Moment(self._task, jobs, ends_s, self._now, frozenset(self._gone)))
        planned = Scheduled(self._world, self._task, self._jobs.take(self._jobs.slot >= kept))._queues
        self._orphans = [order for i in sorted(self._gone) for order in reversed(planned.pop(i, []))]
        self._queues = planned
        self._planned_at, self._changed = len(self._happened), False
        started = [order for i in list(planned) if i not in self._busy for order in self._next(i)]
        return [*started, *self._inherited()]

    def _end_s(self, order: Dispatch) -> float:
        """About when the job under way will end [s]."""
        i, j, slot, now = (np.asarray([x]) for x in (order.device, order.task, len(self._ends_s), self._now))
        world = (self._world if self._world_now is None else self._world_now()).as_planned()
        length_s = (
            world.download_s(i, j, slot, now)
            + world.compute_s(i, j, order.steps, order.batch, order.frequency_Hz)
            + world.upload_s(i, j, slot, now)
        )
        begun_s = max(order.start_s, self._since_s.get(order.device, 0.0))
        return max(self._now, begun_s + float(length_s[0]))
