"""A loss model whose value grows with data drift: what follows from the weights that it gives to drift."""

from __future__ import annotations

from abc import abstractmethod

from dmafl.base.arrays import FloatArray
from dmafl.planning.loss_models.base import LossModel
from dmafl.planning.loss_models.drift_terms import DriftWeights, overlap, overlap_pull, time_slopes
from dmafl.planning.loss_models.slopes import TimeSlopes
from dmafl.theory.constants import Constants
from dmafl.theory.jobs import TaskJobs


class DriftingLossModel(LossModel):
    """Adds drift_all and the drift while each job is under way, with weights of the model's own."""

    constants: Constants

    @abstractmethod
    def drift_weights(self, jobs: TaskJobs) -> DriftWeights:
        """What a unit of each drift adds to the value."""

    @property
    def devices(self) -> int:
        """See `LossModel`."""
        return self.constants.devices

    def time_slopes(self, jobs: TaskJobs) -> TimeSlopes:
        """See `LossModel`."""
        return time_slopes(self.drift_weights(jobs), self.constants)

    @property
    def late_end_helps(self) -> bool:
        """See `LossModel`."""
        return float(self.constants.drift_idle.sum()) < 0

    @property
    def drift_may_help(self) -> bool:
        """Whether the loss may fall by drift: then no lower bound is proved."""
        c = self.constants
        return bool((c.drift_idle < 0).any() or (c.drift_active < 0).any())

    def overlap_value(self, jobs: TaskJobs) -> float:
        """What the value has by others' data that drift more since they compute."""
        return float(self.drift_weights(jobs).under_way @ overlap(jobs, self.constants))

    def overlap_pull(self, weight: float, jobs: TaskJobs) -> FloatArray:
        """See `LossModel`."""
        return overlap_pull(jobs, self.constants, weight * self.drift_weights(jobs).under_way)
