"""What every prediction of the error rate of a schedule can do."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.label_mix import LabelMix


class ErrorRates(ABC):
    """Error rates of a schedule after some of its slots."""

    @abstractmethod
    def of_slots(
        self,
        jobs: TaskJobs,
        labels: LabelMix,
        counts: IntArray,
        trained: float = 0.0,
        exchanged: float = 0.0,
    ) -> FloatArray:
        """The error rate after each number of slots, (n,); N and V go on from `trained` and `exchanged`."""

    def of_jobs(
        self, jobs: TaskJobs, labels: LabelMix, trained: float = 0.0, exchanged: float = 0.0
    ) -> float:
        """The error rate after the last slot."""
        return float(self.of_slots(jobs, labels, np.asarray([len(jobs)]), trained, exchanged)[0])
