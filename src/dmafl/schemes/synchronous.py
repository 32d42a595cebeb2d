"""Who trains next in schemes with rounds: the devices whose models went into the last average."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dmafl.schemes.draws import Drawn
from dmafl.schemes.scheme import RoundRule
from dmafl.server.aggregators import Average
from dmafl.server.messages import Dispatch, Plain
from dmafl.server.policy import Policy
from dmafl.world.world import World


class Rounds:
    """All devices start together; the first `arrivals` make a round and restart, the others go on and count later."""

    def __init__(self, world: World, task: int, drawn: Drawn, arrivals: int) -> None:
        self.aggregator = Average(arrivals)
        self._task, self._drawn, self._arrivals = task, drawn, arrivals
        self._devices = world.device_count
        self._arrived: list[int] = []
        self._gone: set[int] = set()

    def begin(self) -> Sequence[Dispatch]:
        """Everybody."""
        return [self._drawn.order(device, self._task, 0.0) for device in range(self._devices)]

    def on_idle(self, device: int | None, now: float, aggregated: bool) -> Sequence[Dispatch]:
        """None until the round is complete; then the devices that made it."""
        if device is not None:
            self._arrived.append(device)
        if not aggregated:
            return []
        restart, self._arrived = self._arrived, []
        return [self._drawn.order(there, self._task, now) for there in restart if there not in self._gone]

    def on_device_lost(self, device: int, now: float) -> Sequence[Dispatch]:
        """Rounds are of those that are left; the current one cannot wait for more than can come."""
        self._gone.add(device)
        self._arrived = [other for other in self._arrived if other != device]
        self.aggregator.expect(max(1, min(self._arrivals, self._devices - len(self._gone))))
        return []

    def on_job_lost(self, device: int, now: float) -> Sequence[Dispatch]:
        """The device tries again: the round waits for it."""
        return [] if device in self._gone else [self._drawn.order(device, self._task, now)]

    def on_device_joined(self, device: int, now: float) -> Sequence[Dispatch]:
        """The device takes part from now on."""
        if device not in self._gone:
            return []
        self._gone.remove(device)
        self.aggregator.expect(min(self._arrivals, self._devices - len(self._gone)))
        return [self._drawn.order(device, self._task, now)]

    def state(self) -> Plain:
        """What a checkpoint needs."""
        return {"arrived": self._arrived, "gone": sorted(self._gone), "expected": self.aggregator.size}

    def restore(self, state: Plain) -> None:
        """Go on from `state`."""
        self._arrived, self._gone = list(state["arrived"]), set(state["gone"])
        self.aggregator.expect(state["expected"])


def rounds_of(world: World, arrivals: int) -> list[Policy]:
    """One policy for each task, with rounds of `arrivals` local models."""
    drawn = Drawn.of(world)
    return [Rounds(world, j, drawn, arrivals) for j in range(world.task_count)]


def averaging(arrivals: int) -> RoundRule:
    """The mean of `arrivals` local models, or of as many as there are devices left."""
    return RoundRule(arrivals, True, lambda task, staleness: np.full(len(staleness), 1.0 / arrivals))
