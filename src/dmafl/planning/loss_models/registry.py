"""The loss models by name: one line for each, and a way to plan with a model of one's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dmafl.base.errors import must_be_one_of
from dmafl.planning.loss_models.base import LossModel
from dmafl.planning.loss_models.calibrated import calibrated
from dmafl.planning.loss_models.sharp import sharp_of
from dmafl.planning.loss_models.theorem1 import printed
from dmafl.planning.task_estimates import TaskEstimates
from dmafl.scenario.model import Objective, Task


@dataclass(frozen=True)
class LossModelKind:
    """How the loss model of each task is made."""

    name: str
    """As in the option `--quality` and in plan files."""
    make: Callable[[TaskEstimates, Task, str], LossModel]
    """From what is known of a task, its settings and the dissimilarity `gram` or `diagonal`."""
    needs_probes: bool = False
    """Whether it needs a calibration, which is fitted to probe runs."""
    weight: float | None = None
    """c_1: cost of a unit of loss; left out: `quality_weight_NAME` of the scenario's objective."""

    def weight_in(self, objective: Objective) -> float:
        """c_1 in a scenario."""
        return (
            float(getattr(objective, f"quality_weight_{self.name}")) if self.weight is None else self.weight
        )


LOSS_MODELS = {
    kind.name: kind
    for kind in (
        LossModelKind("calibrated", calibrated, needs_probes=True),
        LossModelKind("sharp", sharp_of),
        LossModelKind("printed", printed),
    )
}


def loss_model_kind(quality: str | LossModelKind) -> LossModelKind:
    """The kind of loss model of this name, or the one that is given. Refuses a name that there is not."""
    if isinstance(quality, LossModelKind):
        return quality
    must_be_one_of("quality", quality, LOSS_MODELS)
    return LOSS_MODELS[quality]
