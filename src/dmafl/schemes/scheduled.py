"""`scheduled`: carry out any list of jobs, e.g. one read from plan.json."""

from __future__ import annotations

from collections.abc import Sequence

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
        self._gone: set[int] = set()

    def begin(self) -> Sequence[Dispatch]:
        """The first job of every device."""
        return [queue.pop() for queue in self._queues.values() if queue]

    def free(self, device: int | None, now: float, aggregated: bool) -> Sequence[Dispatch]:
        """The device's next job."""
        queue = self._queues.get(device, []) if device is not None else []
        return [queue.pop()] if queue and device not in self._gone else []

    def lost(self, device: int, now: float) -> Sequence[Dispatch]:
        """The device's later jobs go to the device with the fewest left, so that their slots are still completed."""
        self._gone.add(device)
        orphans = self._queues.pop(device, [])
        heirs = [one for one in range(self._devices) if one not in self._gone]
        if not heirs:
            return []
        started = []
        for order in reversed(orphans):
            heir = min(heirs, key=lambda one: (len(self._queues.get(one, [])), one))
            moved = Dispatch(order.task, heir, order.start_s, order.steps, order.batch, order.frequency_Hz)
            if heir in self._queues:
                self._queues[heir].insert(0, moved)
            else:
                self._queues[heir] = []
                started.append(moved)
        return started

    def joined(self, device: int, now: float) -> Sequence[Dispatch]:
        """The device is back; its jobs went to others."""
        self._gone.discard(device)
        return []

    def state(self) -> Plain:
        """What a checkpoint needs: the plan itself is read again."""
        return {
            "left": [[device, [_plain(one) for one in queue]] for device, queue in self._queues.items()],
            "gone": sorted(self._gone),
        }

    def restore(self, state: Plain) -> None:
        """Go on from `state`."""
        self._queues = {device: [Dispatch(*one) for one in queue] for device, queue in state["left"]}
        self._gone = set(state["gone"])


def scheduled(world: World, schedule: Schedule) -> list[Policy]:
    """One policy a task that carries out its jobs of `schedule`."""
    return [Scheduled(world, task, schedule) for task in range(world.task_count)]


def _plain(order: Dispatch) -> list[float]:
    return [
        order.task,
        order.device,
        order.start_s,
        order.steps,
        order.batch,
        order.frequency_Hz,
        order.version,
        order.slot,
    ]
