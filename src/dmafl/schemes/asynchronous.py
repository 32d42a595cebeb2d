"""Who trains next in asynchronous schemes without a plan: any idle device, after a random rest."""

from __future__ import annotations

from collections.abc import Sequence

from dmafl.schemes.draws import Drawn
from dmafl.schemes.pool import IdlePool
from dmafl.server.aggregators import Aggregator
from dmafl.server.messages import Dispatch, Plain
from dmafl.world.world import World


class UniformIdle:
    """At most K+1 jobs in flight; a place that frees goes to a uniformly drawn idle device after U(0, idle_max) s."""

    def __init__(self, world: World, task: int, drawn: Drawn, aggregator: Aggregator) -> None:
        settings = list(world.scenario.tasks.values())[task]
        self.aggregator = aggregator
        self._task, self._drawn = task, drawn
        self._places = settings.max_staleness + 1
        self._idle_max_s = settings.idle_max_s
        self._pool = IdlePool(world.device_count, world.scenario.seed, "fedasync.device", task)
        self._gone: set[int] = set()

    def begin(self) -> Sequence[Dispatch]:
        """Fill every place."""
        return [self._next(0.0) for _ in range(min(self._places, len(self._pool)))]

    def free(self, device: int | None, now: float, aggregated: bool) -> Sequence[Dispatch]:
        """The place goes to a device drawn anew; the one that uploaded is idle again and may be drawn."""
        if device is not None and device not in self._gone:
            self._pool.put_back(device)
        return self._fill(now)

    def lost(self, device: int, now: float) -> Sequence[Dispatch]:
        """The place goes to another device."""
        self._gone.add(device)
        self._pool.remove(device)
        return self._fill(now)

    def joined(self, device: int, now: float) -> Sequence[Dispatch]:
        """The device may be drawn again."""
        self._gone.discard(device)
        self._pool.put_back(device)
        return []

    def state(self) -> Plain:
        """What a checkpoint needs."""
        return {"pool": self._pool.state(), "gone": sorted(self._gone)}

    def restore(self, state: Plain) -> None:
        """Go on from `state`."""
        self._pool.restore(state["pool"])
        self._gone = set(state["gone"])

    def _fill(self, now: float) -> Sequence[Dispatch]:
        return [self._next(now)] if len(self._pool) else []

    def _next(self, now: float) -> Dispatch:
        device, u = self._pool.draw()
        return self._drawn.order(device, self._task, now + u * self._idle_max_s)
