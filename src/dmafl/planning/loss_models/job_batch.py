"""Schedules of one task whose losses are wanted together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.theory.jobs import TaskJobs


@dataclass(frozen=True, eq=False)
class JobBatch:
    """The jobs of n schedules of G slots each, in two forms."""

    end_to_end: TaskJobs
    """All jobs in one row, (n G,), with versions and times shifted so that no schedule sees another."""
    horizon_s: FloatArray
    """When the last slot of each schedule completes, (n,)."""
    one_by_one: Callable[[], Iterable[TaskJobs]]
    """The jobs of each schedule alone; made when asked for, since it takes longer."""

    def __len__(self) -> int:
        return len(self.horizon_s)

    def table(self, column: FloatArray) -> FloatArray:
        """A column of `end_to_end` with one row per schedule, (n, G)."""
        return column.reshape(len(self), -1)

    @property
    def device(self) -> IntArray:
        """Device of every slot, (n, G)."""
        return self.end_to_end.device.reshape(len(self), -1)

    @property
    def version(self) -> IntArray:
        """Version received in every slot, without the shift, (n, G)."""
        shifted = self.end_to_end.version.reshape(len(self), -1)
        return np.asarray(shifted - shifted.shape[1] * np.arange(len(self))[:, None])
