"""How far the data streams of a schedule have come when its jobs train and its models are tested."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Streams:
    """How far data streams have come when jobs train, (G,), and when models are tested; 0 is the start, 1 the end."""

    of_jobs: FloatArray
    of_tests: float = 1.0

    @classmethod
    def even(cls, slots: int) -> Streams:
        """Jobs of a schedule without a clock: from start to end."""
        return cls(np.arange(slots) / max(1, slots - 1))
