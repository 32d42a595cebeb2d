"""What a run on real devices has in place of the simulator's clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dmafl.simulation.run_transport import RunTransport
from dmafl.theory.label_mix import LabelMix
from dmafl.training.trainer import Trainer
from dmafl.world.world import World


@dataclass(frozen=True)
class RealDevices:
    """How real devices are reached."""

    transport: Callable[[World, Trainer], RunTransport]
    """Makes the transport of a run, whose clock begins then."""
    labels: Callable[[Trainer], Mapping[str, LabelMix]] | None = None
    """Asks devices for the labels that they hold, by task; None: those that the scenario deals."""
