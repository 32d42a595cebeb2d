"""What a loss model may know of its task besides a schedule."""

from __future__ import annotations

from dataclasses import dataclass

from dmafl.base.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class TaskFrame:
    """Weight, ranges of work and mixing weights of a task."""

    weight: float
    """c_1 gamma_j: cost of a unit of loss."""
    steps_range: tuple[float, float]
    """Smallest and largest e."""
    batch_range: tuple[float, float]
    """Smallest and largest B."""
    rate: float
    """eta: learning rate."""
    samples_at_start: int
    """D of every device at time 0."""
    mix_weights: FloatArray
    """alpha_k by slot and staleness, (G, K + 1)."""
    usable: IntArray
    """Devices that may train this task."""

    @property
    def slots(self) -> int:
        """G."""
        return len(self.mix_weights)
