"""How far the data streams of a schedule have come when its jobs train and its models are tested."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Streams:
    """How far data streams have come when the job of each slot trains, and after that slot: 0 at first, 1 at last."""

    of_jobs: FloatArray
    of_tests: FloatArray
    """What test data follow."""

    @classmethod
    def even(cls, slots: int) -> Streams:
        """A schedule without a clock: jobs from start to end, all tests at the end."""
        return cls(np.arange(slots) / max(1, slots - 1), np.ones(slots))
