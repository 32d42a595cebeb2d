"""`fedbuff`: asynchronous devices, buffered aggregation. Nguyen et al.: FedBuff. Beyond the paper."""

from __future__ import annotations

from dmafl.schemes.asynchronous import UniformIdle
from dmafl.schemes.draws import Drawn
from dmafl.server.aggregators import Buffer
from dmafl.server.policy import Policy
from dmafl.theory.mixing import staleness_factor
from dmafl.world.world import World


def fedbuff(world: World) -> list[Policy]:
    """One policy a task: uniform idle devices; every Z arrivals make one step."""
    drawn = Drawn.of(world)
    settings = world.scenario.schemes
    return [
        UniformIdle(
            world,
            j,
            drawn,
            Buffer(settings.buffer_size, staleness_factor(task), settings.buffer_learning_rate),
        )
        for j, task in enumerate(world.scenario.tasks.values())
    ]
