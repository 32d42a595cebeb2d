"""What a server does with a local model when it arrives: mix it in, average some, or fill a buffer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dmafl.learning.aggregation import StalenessFactor, mix, mix_weight
from dmafl.learning.arrays import Vector
from dmafl.server.messages import Arrays, Plain
from dmafl.server.updates import Update


class Aggregator(Protocol):
    """Takes local models, one at a time, and returns a new global model when there is one."""

    def add(self, current: Vector, update: Update, slot: int) -> tuple[Vector | None, float]:
        """The new global model, or None while it waits for more; and the weight that the update has in it.

        Of an update that was not finite `local` and `received` are `current` itself.
        """
        ...

    def complete_round(self, current: Vector) -> Vector | None:
        """The new global model, if all local models of the round have arrived (devices may have dropped out)."""
        ...

    def state(self) -> tuple[Plain, Arrays]:
        """What it keeps from update to update, for a checkpoint: plain values, and arrays by name."""
        ...

    def restore(self, plain: Plain, arrays: Arrays) -> None:
        """Go on from `state`."""
        ...


@dataclass
class MixAtOnce:
    """w <- (1 - alpha_s) w + alpha_s w_local with every arrival. Eq. (global_aggregation_rule)."""

    alpha: float
    phi: StalenessFactor
    mix_decay: float | None = None
    _weights: dict[int, float] = field(default_factory=dict, init=False, repr=False)
    """alpha phi(s) of each staleness seen so far."""

    def add(self, current: Vector, update: Update, slot: int) -> tuple[Vector | None, float]:
        """The mixed model, at once."""
        staleness, local = update.staleness, update.local
        if staleness not in self._weights:
            self._weights[staleness] = float(mix_weight(self.alpha, self.phi, staleness))
        weight = self._weights[staleness]
        if self.mix_decay is not None:
            weight *= (1.0 + slot / self.mix_decay) ** -0.5
        # A model that stands in for one that is not finite is the current one itself: not even rounding changes it.
        return current if local is current else mix(current, local, weight), weight

    def complete_round(self, current: Vector) -> Vector | None:
        """Nothing waits."""
        return None

    def state(self) -> tuple[Plain, Arrays]:
        """Nothing waits."""
        return {}, {}

    def restore(self, plain: Plain, arrays: Arrays) -> None:
        """Nothing to restore."""


@dataclass
class _Waiting:
    """Adds up models until there are `size` of them."""

    size: int
    count: int = field(default=0, init=False)
    total: NDArray[np.float64] | None = field(default=None, init=False)

    def take(self, part: NDArray[np.float64]) -> None:
        """Add `part`."""
        self.total = part if self.total is None else self.total + part
        self.count += 1

    def mean(self) -> NDArray[np.float64] | None:
        """The mean of all parts if they are complete; then it begins anew."""
        if self.total is None or self.count < self.size:
            return None
        mean = self.total / self.count
        self.count, self.total = 0, None
        return mean

    def state(self) -> tuple[Plain, Arrays]:
        """How many models wait, and their sum."""
        return {"count": self.count}, {} if self.total is None else {"total": self.total}

    def restore(self, plain: Plain, arrays: Arrays) -> None:
        """Go on from `state`."""
        self.count, self.total = plain["count"], arrays.get("total")


@dataclass
class Average(_Waiting):
    """The mean of `size` local models replaces the global one: FedAvg among devices with equally many samples."""

    def add(self, current: Vector, update: Update, slot: int) -> tuple[Vector | None, float]:
        """The mean, with the last of the models that it waits for."""
        self.take(update.local.astype(np.float64))
        return self.complete_round(current), 1.0 / self.size

    def complete_round(self, current: Vector) -> Vector | None:
        """The mean, if all are there."""
        mean = self.mean()
        return None if mean is None else mean.astype(current.dtype)

    def expect(self, size: int) -> None:
        """Wait for `size` models from now on (devices have dropped out)."""
        self.size = size


@dataclass
class Buffer(_Waiting):
    """After `size` arrivals w += server_lr * mean(phi(s) (w_local - w_received)): FedBuff."""

    phi: StalenessFactor
    server_lr: float

    def add(self, current: Vector, update: Update, slot: int) -> tuple[Vector | None, float]:
        """The stepped model, with the arrival that fills the buffer."""
        weight = float(self.phi(update.staleness))
        self.take(weight * (update.local.astype(np.float64) - update.received))
        return self.complete_round(current), self.server_lr * weight / self.size

    def complete_round(self, current: Vector) -> Vector | None:
        """The stepped model, if the buffer is full."""
        mean = self.mean()
        return None if mean is None else (current + self.server_lr * mean).astype(current.dtype)
