"""A small loss model of a test's own: terms and nothing else, so that everything else is a default of `LossModel`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.planning.loss_models.base import LossModel
from dmafl.planning.loss_models.registry import LossModelKind
from dmafl.planning.task_estimates import TaskEstimates
from dmafl.scenario.model import Task
from dmafl.theory.jobs import TaskJobs

WEIGHT = 0.05
"""c_1: large enough for the loss to count beside the energy, small enough for the energy to count beside the loss."""


@dataclass(frozen=True, eq=False)
class Skilled(LossModel):
    """Training by devices of different skill: loss falls with skill times the root of the steps, less if stale."""

    skill: FloatArray
    """Of every device, (I,)."""
    name: ClassVar[str] = "skilled"

    @property
    def devices(self) -> int:
        """I."""
        return len(self.skill)

    def terms(self, jobs: TaskJobs) -> dict[str, float]:
        """Progress of all jobs together, and the noise of small batches."""
        progress = float(np.sum(self.skill[jobs.device] * np.sqrt(jobs.steps) / (1.0 + jobs.staleness)))
        return {"progress": 10.0 / progress, "noise": float(np.mean(1.0 / jobs.batch))}


def skilled(skill: FloatArray) -> LossModelKind:
    """The kind that gives every task devices of these skills."""

    def make(estimates: TaskEstimates, settings: Task, dissimilarity: str) -> LossModel:
        return Skilled(skill)

    return LossModelKind("skilled", make, weight=WEIGHT)
