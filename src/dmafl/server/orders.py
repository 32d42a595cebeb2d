"""Orders that are not jobs yet: those whose time the transport awaits, and those that wait for a version."""

from __future__ import annotations

from dataclasses import asdict

from dmafl.server.messages import Dispatch, Plain


class Orders:
    """Orders of all tasks."""

    def __init__(self, tasks: int) -> None:
        self._given: list[dict[int, int]] = [{} for _ in range(tasks)]
        """Of each task and device, orders that the transport has not woken yet."""
        self._waiting: list[list[Dispatch]] = [[] for _ in range(tasks)]

    def give(self, order: Dispatch) -> None:
        """The transport has it."""
        of_task = self._given[order.task]
        of_task[order.device] = of_task.get(order.device, 0) + 1

    def wake(self, order: Dispatch) -> None:
        """The transport has woken it."""
        of_task = self._given[order.task]
        left = of_task.get(order.device, 0) - 1
        if left > 0:
            of_task[order.device] = left
        else:
            of_task.pop(order.device, None)

    def wait(self, order: Dispatch) -> None:
        """It waits for its version."""
        self._waiting[order.task].append(order)

    def ready(self, task: int, version: int) -> list[Dispatch]:
        """Take out the orders that waited for `version` or an earlier one."""
        ready = [order for order in self._waiting[task] if order.version <= version]
        self._waiting[task] = [order for order in self._waiting[task] if order.version > version]
        return ready

    def take_earliest(self, task: int) -> Dispatch | None:
        """Take out the order that waits for the earliest version; None if none waits."""
        waiting = self._waiting[task]
        if not waiting:
            return None
        first = min(waiting, key=lambda order: (order.version, order.start_s))
        waiting.remove(first)
        return first

    def only_waiting(self, task: int) -> bool:
        """Whether orders of the task wait for a version, and the transport has none that it is still to wake."""
        return bool(self._waiting[task]) and not self._given[task]

    def drop_device(self, device: int) -> None:
        """The device has left: its orders are void."""
        for of_task in self._given:
            of_task.pop(device, None)
        self._waiting = [[order for order in orders if order.device != device] for orders in self._waiting]

    def drop_task(self, task: int) -> None:
        """The task has all its slots: its orders are void."""
        self._given[task].clear()
        self._waiting[task].clear()

    def state(self) -> Plain:
        """As plain values, for a checkpoint."""
        return {
            "given": [[[device, count] for device, count in of_task.items()] for of_task in self._given],
            "waiting": [[asdict(order) for order in waiting] for waiting in self._waiting],
        }

    def restore(self, state: Plain) -> None:
        """Go on from `state`."""
        self._given = [dict(map(tuple, of_task)) for of_task in state["given"]]
        self._waiting = [[Dispatch(**order) for order in waiting] for waiting in state["waiting"]]
