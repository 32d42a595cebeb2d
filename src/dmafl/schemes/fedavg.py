"""`fedavg-full` and `fedavg-partial`: synchronous and semi-synchronous rounds, no planning."""

from __future__ import annotations

from dmafl.schemes.draws import Drawn
from dmafl.schemes.synchronous import Rounds
from dmafl.server.policy import Policy
from dmafl.world.world import World


def fedavg_full(world: World) -> list[Policy]:
    """One policy a task: every round waits for all devices. McMahan et al.: FedAvg."""
    drawn = Drawn.of(world)
    return [Rounds(world, j, drawn, world.device_count) for j in range(world.task_count)]


def fedavg_partial(world: World) -> list[Policy]:
    """One policy a task: a round is the first M arrivals, half of the devices by default. Ma et al.: FedSA."""
    drawn = Drawn.of(world)
    given = world.scenario.schemes.partial_arrivals
    arrivals = min(given, world.device_count) if given is not None else max(1, world.device_count // 2)
    return [Rounds(world, j, drawn, arrivals) for j in range(world.task_count)]
