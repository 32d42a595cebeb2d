"""An aggregator with a memory of every device: the global model is the mean of all their latest models."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dmafl.learning.arrays import Vector
from dmafl.server.messages import Arrays, Plain
from dmafl.server.updates import Update


@dataclass
class LatestOfAll:
    """Devices count by their samples."""

    latest: dict[int, Vector] = field(default_factory=dict)
    samples: dict[int, int] = field(default_factory=dict)

    def add(self, current: Vector, update: Update, slot: int) -> tuple[Vector | None, float]:
        self.latest[update.device] = update.local
        self.samples[update.device] = update.samples or 1
        weights = np.asarray(list(self.samples.values())) / sum(self.samples.values())
        mean = weights @ np.asarray(list(self.latest.values()), dtype=np.float64)
        return mean.astype(current.dtype), self.samples[update.device] / sum(self.samples.values())

    def complete_round(self, current: Vector) -> Vector | None:
        return None

    def state(self) -> tuple[Plain, Arrays]:
        return {"samples": list(self.samples.items())}, {f"device {i}": self.latest[i] for i in self.latest}

    def restore(self, plain: Plain, arrays: Arrays) -> None:
        self.samples = dict(plain["samples"])
        self.latest = {i: arrays[f"device {i}"] for i in self.samples}
