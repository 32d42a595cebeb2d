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
        self._out: set[int] = set()
        self._gone: set[int] = set()

    def begin(self) -> Sequence[Dispatch]:
        """Fill every place."""
        return self._fill(0.0)

    def on_idle(self, device: int | None, now: float, aggregated: bool) -> Sequence[Dispatch]:
        """The place goes to a device drawn anew; the one that uploaded is idle again and may be drawn."""
        if device is not None:
            self._out.discard(device)
            if device not in self._gone:
                self._pool.put_back(device)
        return self._fill(now)

    def on_device_lost(self, device: int, now: float) -> Sequence[Dispatch]:
        """Its place, if it had one, goes to another device."""
        self._gone.add(device)
        self._out.discard(device)
        self._pool.remove(device)
        return self._fill(now)

    def on_job_lost(self, device: int, now: float) -> Sequence[Dispatch]:
        """Its place goes to a device drawn anew; it may be drawn again itself."""
        return self.on_idle(device, now, False)

    def on_device_joined(self, device: int, now: float) -> Sequence[Dispatch]:
        """The device may be drawn again, at once if a place is free."""
        self._gone.discard(device)
        if device not in self._out:
            self._pool.put_back(device)
        return self._fill(now)

    def state(self) -> Plain:
        """What a checkpoint needs."""
        return {"pool": self._pool.state(), "out": sorted(self._out), "gone": sorted(self._gone)}

    def restore(self, state: Plain) -> None:
        """Go on from `state`."""
        self._pool.restore(state["pool"])
        self._out, self._gone = set(state["out"]), set(state["gone"])

    def _fill(self, now: float) -> Sequence[Dispatch]:
        orders = []
        while len(self._out) < self._places and len(self._pool):
            orders.append(self._next(now))
        return orders

    def _next(self, now: float) -> Dispatch:
        device, u = self._pool.draw()
        self._out.add(device)
        return self._drawn.order(device, self._task, now + u * self._idle_max_s)
