"""Seconds since a run began, without the time in which its server did not run; and what is to happen at a time."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field

from dmafl.server.messages import Dispatch, Plain, Tick, Wake


@dataclass
class RealTime:
    """A clock that begins when it is told to; tests give it another source."""

    source: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _begun: float | None = field(default=None, init=False)
    _before_s: float = field(default=0.0, init=False)

    def begin(self, before_s: float = 0.0) -> None:
        """Go on from `before_s`."""
        self._begun, self._before_s = self.source(), before_s

    def read(self) -> float:
        """The time [s]; 0 before it has begun."""
        return 0.0 if self._begun is None else self._before_s + self.source() - self._begun


class Timers:
    """Orders whose time has not come, and times at which models are tested; the earliest first."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Dispatch | None]] = []
        self._count = 0

    def wake(self, dispatch: Dispatch, now: float) -> None:
        """Enter an order."""
        self._push(max(now, dispatch.start_s), dispatch)

    def tick_at(self, times_s: Iterable[float]) -> None:
        """Enter times of tests."""
        for time_s in times_s:
            self._push(time_s, None)

    def next_s(self) -> float | None:
        """The time of the next one."""
        return self._heap[0][0] if self._heap else None

    def due(self, now: float) -> tuple[float, Wake | Tick] | None:
        """Take out the first whose time has come, with its time."""
        if not self._heap or self._heap[0][0] > now:
            return None
        time_s, _, dispatch = heapq.heappop(self._heap)
        return time_s, Tick() if dispatch is None else Wake(dispatch)

    @property
    def orders(self) -> int:
        """Orders that wait for their time."""
        return sum(dispatch is not None for _, _, dispatch in self._heap)

    def drop_device(self, device: int) -> None:
        """Orders of a device that has left are void."""
        self._keep(lambda dispatch: dispatch is None or dispatch.device != device)

    def drop_task(self, task: int) -> None:
        """A task is done."""
        self._keep(lambda dispatch: dispatch is None or dispatch.task != task)

    def drop_ticks(self) -> None:
        """There is nothing more to test."""
        self._keep(lambda dispatch: dispatch is not None)

    def state(self) -> Plain:
        """As plain values, for a checkpoint."""
        return {
            "timers": [
                [time_s, None if dispatch is None else asdict(dispatch)]
                for time_s, _, dispatch in sorted(self._heap, key=lambda entry: entry[:2])
            ]
        }

    def restore(self, state: Plain) -> None:
        """Go on from `state`."""
        self._heap = []
        for time_s, dispatch in state["timers"]:
            self._push(time_s, None if dispatch is None else Dispatch(**dispatch))

    def _push(self, time_s: float, dispatch: Dispatch | None) -> None:
        heapq.heappush(self._heap, (time_s, self._count, dispatch))
        self._count += 1

    def _keep(self, wanted: Callable[[Dispatch | None], bool]) -> None:
        self._heap = [entry for entry in self._heap if wanted(entry[2])]
        heapq.heapify(self._heap)
