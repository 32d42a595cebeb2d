"""`scheduled`: carry out any list of jobs, e.g. one read from plan.json."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, replace

import numpy as np

from dmafl.schedule.jobs import Schedule
from dmafl.schemes.mixing import mix_at_once
from dmafl.server.messages import Dispatch, Plain
from dmafl.server.policy import Policy
from dmafl.world.world import World


class Scheduled:
    """Every job of the task at its planned start, or when its version is there and its device free."""

    def __init__(self, world: World, task: int, schedule: Schedule) -> None:
        self.aggregator = mix_at_once(list(world.scenario.tasks.values())[task])
        own = schedule.take(schedule.task == task)
        own = own.take(np.lexsort((own.slot, own.start_s)))
        self._devices = world.device_count
        self._queues: dict[int, list[Dispatch]] = {}
        for k in range(len(own)):
            device = int(own.device[k])
            order = Dispatch(
                task,
                device,
                float(own.start_s[k]),
                int(own.steps[k]),
                int(own.batch[k]),
                float(own.frequency_Hz[k]),
                int(own.version[k]),
                int(own.slot[k]),
            )
            self._queues.setdefault(device, []).append(order)
        for queue in self._queues.values():
            queue.reverse()  # the next order is the last entry
        self._busy: dict[int, Dispatch] = {}
        self._gone: set[int] = set()

    def begin(self) -> Sequence[Dispatch]:
        """The first job of every device."""
        return [order for device in list(self._queues) for order in self._next(device)]

    def on_idle(self, device: int | None, now: float, aggregated: bool) -> Sequence[Dispatch]:
        """The device's next job."""
        if device is None:
            return []
        self._busy.pop(device, None)
        return self._next(device)

    def on_device_lost(self, device: int, now: float) -> Sequence[Dispatch]:
        """The job it had and its later ones go to those with the fewest left, so that all slots are completed."""
        self._gone.add(device)
        orphans = [
            *([self._busy.pop(device)] if device in self._busy else []),
            *reversed(self._queues.pop(device, [])),
        ]
        heirs = [one for one in range(self._devices) if one not in self._gone]
        started: list[Dispatch] = []
        for order in orphans if heirs else []:
            heir = min(heirs, key=lambda one: (len(self._queues.get(one, [])) + (one in self._busy), one))
            moved = replace(order, device=heir, version=0, slot=-1)
            self._queues.setdefault(heir, []).insert(0, moved)
            if heir not in self._busy:
                started += self._next(heir)
        return started

    def on_device_joined(self, device: int, now: float) -> Sequence[Dispatch]:
        """The device is back; its jobs went to others."""
        self._gone.discard(device)
        return []

    def state(self) -> Plain:
        """What a checkpoint needs."""
        return {
            "left": [
                [device, [list(astuple(one)) for one in queue]] for device, queue in self._queues.items()
            ],
            "busy": [list(astuple(one)) for one in self._busy.values()],
            "gone": sorted(self._gone),
        }

    def restore(self, state: Plain) -> None:
        """Go on from `state`."""
        self._queues = {device: [Dispatch(*one) for one in queue] for device, queue in state["left"]}
        self._busy = {order.device: order for order in (Dispatch(*one) for one in state["busy"])}
        self._gone = set(state["gone"])

    def _next(self, device: int) -> list[Dispatch]:
        queue = self._queues.get(device)
        if not queue or device in self._gone:
            return []
        self._busy[device] = queue.pop()
        return [self._busy[device]]


def scheduled(world: World, schedule: Schedule) -> list[Policy]:
    """One policy a task that carries out its jobs of `schedule`."""
    return [Scheduled(world, task, schedule) for task in range(world.task_count)]
