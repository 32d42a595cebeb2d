"""Schedules that are not decided yet, in which candidates (device, staleness) share every slot, and their losses.

`x[g, i, s]` is the share of slot g that device i completes with staleness s. The relaxed form of a loss model equals
the true one where x is 0 or 1 (but for the window term of jobs that overlap, see `drift_terms.relaxed_under_way`), is
smooth between, and comes with its derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from dmafl.base.arrays import FloatArray


class RelaxedSchedule(NamedTuple):
    """A relaxed schedule of one task, or derivatives with respect to each of its parts."""

    x: FloatArray
    """(G, I, S), S = K + 1 ages; 0 where slot g has no version g - s."""
    steps: FloatArray
    batch: FloatArray
    compute_s: FloatArray
    end_s: FloatArray
    """All (G,)."""


@dataclass(frozen=True, eq=False)
class RelaxedFrame:
    """What a relaxed loss knows of its task besides the schedule."""

    mix: FloatArray
    """alpha by slot and staleness, (G, S)."""
    samples: FloatArray
    """D of every slot, (G,), held."""
    rate: float
    proximal: float
    transfer_s: FloatArray
    """T^D + T^U of every candidate, (G, I, S)."""


class RelaxedLoss(Protocol):
    """Loss of a relaxed schedule and its derivatives."""

    def __call__(self, at: RelaxedSchedule) -> tuple[float, RelaxedSchedule]:
        """The loss, and its derivative with respect to every part."""
