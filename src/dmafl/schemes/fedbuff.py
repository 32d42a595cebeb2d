"""`fedbuff`: asynchronous devices, buffered aggregation. Nguyen et al.: FedBuff. Beyond the paper."""

from __future__ import annotations

import numpy as np

from dmafl.scenario.model import Task
from dmafl.schemes.asynchronous import UniformIdle
from dmafl.schemes.draws import Drawn
from dmafl.schemes.scheme import Array, Baseline, RoundRule, SchemeContext
from dmafl.server.aggregators import Buffer
from dmafl.server.policy import Policy
from dmafl.theory.mixing import staleness_factor
from dmafl.world.world import World


class FedBuff(Baseline):
    """Uniform idle devices; every Z arrivals make one step."""

    name = "fedbuff"
    fills_places = True

    def policies(self, context: SchemeContext) -> list[Policy]:
        """One policy for each task."""
        world, drawn = context.world, Drawn.of(context.world)
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

    def rounds(self, world: World) -> RoundRule:
        """Z models, however many devices are left."""
        settings = world.scenario.schemes

        def weight(task: Task, staleness: Array) -> Array:
            factor = staleness_factor(task)(staleness)
            return np.asarray(settings.buffer_learning_rate * factor / settings.buffer_size)

        return RoundRule(settings.buffer_size, of_those_left=False, weight=weight)


SCHEME = FedBuff()
