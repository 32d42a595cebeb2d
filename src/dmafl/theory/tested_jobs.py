"""A run that was tested on its way: its jobs, and loss and accuracy after some of its slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.theory.jobs import TaskJobs


@dataclass(frozen=True, eq=False)
class TestedJobs:
    """Jobs without times, slot after slot, and what tests found after some of the slots; columns (n,)."""

    __test__ = False  # not a class of tests
    jobs: TaskJobs
    slots: IntArray
    """Numbers of slots after which the model was tested, rising, each at least 1."""
    losses: FloatArray
    accuracies: FloatArray

    @classmethod
    def of(
        cls, jobs: TaskJobs, slots: Sequence[int], losses: Sequence[float], accuracies: Sequence[float]
    ) -> TestedJobs:
        """From plain values."""
        return cls(
            jobs,
            np.asarray(slots, dtype=np.int64),
            np.asarray(losses, dtype=np.float64),
            np.asarray(accuracies, dtype=np.float64),
        )
