"""`fedasync`: fully asynchronous, no planning. Xie, Koyejo, Gupta: Asynchronous Federated Optimization."""

from __future__ import annotations

from dmafl.schemes.asynchronous import UniformIdle
from dmafl.schemes.draws import Drawn
from dmafl.schemes.mixing import mix_at_once
from dmafl.server.policy import Policy
from dmafl.world.world import World


def fedasync(world: World) -> list[Policy]:
    """One policy a task: uniform idle devices, every arrival mixed in at once."""
    drawn = Drawn.of(world)
    return [
        UniformIdle(world, j, drawn, mix_at_once(task))
        for j, task in enumerate(world.scenario.tasks.values())
    ]
