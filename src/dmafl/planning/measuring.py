"""What planning needs of measuring: how much of it, and the constants of a scenario, kept or measured now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dmafl.planning.loss_models.registry import loss_model_kind
from dmafl.scenario.model import Scenario
from dmafl.training.components import NOTHING, Components

if TYPE_CHECKING:
    from dmafl.base.watching import Watcher
    from dmafl.calibration.measured import Measured


def probes_for(quality: str) -> int | None:
    """How many probes a quality needs: the prediction the usual ones (None), others none. Refuses unknown qualities."""
    return None if loss_model_kind(quality).needs_probes else 0


def measured_for(
    scenario: Scenario,
    quality: str,
    *,
    workers: int = 1,
    components: Components = NOTHING,
    watcher: Watcher | None = None,
) -> Measured:
    """What is kept of a scenario, or measured now, with as many probes as plans of this quality need."""
    from dmafl.calibration.measure import measure

    probes = probes_for(quality)
    return measure(scenario.as_asked, probes=probes, workers=workers, components=components, watcher=watcher)
