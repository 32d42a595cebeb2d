"""`fedavg-partial`: semi-synchronous rounds of the first arrivals, no planning. Ma et al.: FedSA."""

from __future__ import annotations

from dmafl.schemes.scheme import Baseline, RoundRule, SchemeContext
from dmafl.schemes.synchronous import averaging, rounds_of
from dmafl.server.policy import Policy
from dmafl.world.world import World


class FedAvgPartial(Baseline):
    """A round is the first M arrivals, half of the devices by default."""

    name = "fedavg-partial"

    def policies(self, context: SchemeContext) -> list[Policy]:
        """One policy for each task."""
        return rounds_of(context.world, _arrivals(context.world))

    def rounds(self, world: World) -> RoundRule:
        """The mean of the first M models."""
        return averaging(_arrivals(world))


def _arrivals(world: World) -> int:
    """M: local models of a round."""
    wanted = world.scenario.schemes.partial_arrivals
    return min(wanted, world.device_count) if wanted is not None else max(1, world.device_count // 2)


SCHEME = FedAvgPartial()
