"""Which devices are there on the virtual clock: when they leave and return, and what the server hears of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import asdict

from dmafl.server.messages import AWAY, LEFT, Failed, Job, Joined, Left, Period, Plain
from dmafl.simulation.active_job import ActiveJob
from dmafl.simulation.event_heap import JOIN, LEAVE, EventHeap
from dmafl.world.availability import NEVER_S, Availability

Told = Left | Joined | Failed


class Presence:
    """Enters the next change of each device among the events, and keeps what the server is to be told at once.

    Whether a device is there follows from the time alone.
    """

    def __init__(self, availability: Availability, devices: int, events: EventHeap) -> None:
        self._availability, self._events = availability, events
        self.told: deque[Told] = deque()
        """What the server is to be told before time passes."""
        self._ended: dict[tuple[int, int], str] = {}
        """Where devices leave: why a (device, task) has ended for good, so that it does not begin anew on a return."""
        if availability.always:
            return
        for device in range(devices):
            if not availability.there(device, 0.0):
                self.told.append(Left(device))
            self._enter_next(device, 0.0)

    def away(self, device: int, now: float) -> bool:
        """Whether the device is away."""
        return not self._availability.there(device, now)

    def refusal(self, device: int, task: int, now: float) -> str:
        """Why the device takes no order of the task whatever the order is: `away`, `battery`, `window`; or nothing."""
        return AWAY if self.away(device, now) else self._ended.get((device, task), "")

    def end(self, device: int, task: int, reason: str) -> str:
        """A battery or a window has ended what the device does for the task."""
        if not self._availability.always:
            self._ended[device, task] = reason
        return reason

    def joined(self, device: int, now: float) -> Joined:
        """The device has returned."""
        self._enter_next(device, now)
        return Joined(device)

    def left(self, device: int, now: float, cut_off: Iterable[ActiveJob]) -> Left:
        """The device has left; its orders are void, its jobs are reported after that."""
        self._events.drop_orders(device)
        self._enter_next(device, now)
        self.told += [Failed(active.job, LEFT, True, active.period()) for active in cut_off]
        return Left(device)

    def cut_off(self, task: int) -> list[tuple[Job, Period]]:
        """Take out the jobs of a task that have ended so, and of which the server has not heard yet."""
        ended = [told for told in self.told if isinstance(told, Failed) and told.job.dispatch.task == task]
        if ended:
            self.told = deque(told for told in self.told if told not in ended)
        return [(told.job, told.period) for told in ended]

    def state(self) -> Plain:
        """As plain values, for a checkpoint; the next changes are among the events."""
        return {
            "ended": [[device, task, reason] for (device, task), reason in self._ended.items()],
            "told": [
                [type(told).__name__, asdict(told.job), list(told.period)]
                if isinstance(told, Failed)
                else [type(told).__name__, told.device, None]
                for told in self.told
            ],
        }

    def restore(self, state: Plain) -> None:
        """Go on from `state`."""
        self._ended = {(device, task): reason for device, task, reason in state["ended"]}
        self.told = deque(
            Failed(Job.from_plain(subject), LEFT, True, Period(*period))
            if kind == Failed.__name__
            else Left(subject)
            for kind, subject, period in state["told"]
        )

    def _enter_next(self, device: int, now: float) -> None:
        change_s = self._availability.next_change_s(device, now)
        if change_s < NEVER_S:
            self._events.push(change_s, LEAVE if self._availability.there(device, now) else JOIN, device)
