"""`fedavg-full`: synchronous rounds of all devices, no planning. McMahan et al.: FedAvg."""

from __future__ import annotations

from dmafl.schemes.scheme import Baseline, RoundRule, SchemeContext
from dmafl.schemes.synchronous import averaging, rounds_of
from dmafl.server.policy import Policy
from dmafl.world.world import World


class FedAvgFull(Baseline):
    """Every round waits for all devices."""

    name = "fedavg-full"

    def policies(self, context: SchemeContext) -> list[Policy]:
        """One policy for each task."""
        return rounds_of(context.world, context.world.device_count)

    def rounds(self, world: World) -> RoundRule:
        """The mean of all devices' models."""
        return averaging(world.device_count)


SCHEME = FedAvgFull()
