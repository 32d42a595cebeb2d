"""`fedasync`: fully asynchronous, no planning. Xie, Koyejo, Gupta: Asynchronous Federated Optimization."""

from __future__ import annotations

from dmafl.schemes.asynchronous import UniformIdle
from dmafl.schemes.draws import Drawn
from dmafl.schemes.mixing import mix_at_once
from dmafl.schemes.scheme import Baseline, SchemeContext
from dmafl.server.policy import Policy


class FedAsync(Baseline):
    """Uniform idle devices, every arrival mixed in at once."""

    name = "fedasync"
    fills_places = True

    def policies(self, context: SchemeContext) -> list[Policy]:
        """One policy for each task."""
        world, drawn = context.world, Drawn.of(context.world)
        return [
            UniformIdle(world, j, drawn, mix_at_once(task))
            for j, task in enumerate(world.scenario.tasks.values())
        ]


SCHEME = FedAsync()
