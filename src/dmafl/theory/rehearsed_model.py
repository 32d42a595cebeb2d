"""A prediction of the error rate that is corrected by rehearsals: trainings of some plans of the same fleet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.theory.accuracy import AccuracyCurve
from dmafl.theory.error_rate import ErrorRate
from dmafl.theory.error_rates import ErrorRates
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.label_mix import LabelMix
from dmafl.theory.proxy_model import ProxyModel

NEAR = 0.1
"""Rehearsals count by 1 / (NEAR + distance)^2, the distance that of the logarithms of numbers of slots."""


@dataclass(frozen=True, eq=False)
class RehearsedModel(ErrorRates):
    """Error rates of schedules whose accuracy another model predicts, less what that was off in rehearsals.

    What a prediction is off depends on the number of slots more than on anything else: data grow by the clock in a run.
    """

    model: ErrorRate | ProxyModel
    curve: AccuracyCurve
    """What that model predicts."""
    slots: tuple[int, ...]
    """Slots of every rehearsal."""
    off: tuple[float, ...]
    """Accuracy that each reached, less the predicted one."""

    def of_slots(
        self,
        jobs: TaskJobs,
        labels: LabelMix,
        counts: IntArray,
        trained: float = 0.0,
        exchanged: float = 0.0,
    ) -> FloatArray:
        """The same after each number of slots, (n,)."""
        errors = self.model.of_slots(jobs, labels, counts, trained, exchanged)
        accuracies = np.asarray([self.curve.at(error) for error in errors.tolist()])
        return np.asarray(1.0 - np.clip(accuracies + self.correction(counts), 0.0, 1.0))

    def correction(self, counts: IntArray) -> FloatArray:
        """What is added to accuracies after these numbers of slots, (n,)."""
        apart = np.abs(np.log(np.maximum(counts, 1))[:, None] - np.log(np.asarray(self.slots))[None, :])
        weight = 1.0 / (NEAR + apart) ** 2
        return np.asarray(weight @ np.asarray(self.off) / weight.sum(axis=1))
