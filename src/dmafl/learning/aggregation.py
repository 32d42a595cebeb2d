"""How much a local model counts, and how it is mixed in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dmafl.base.errors import bad_input
from dmafl.learning.arrays import Vector

FloatArray = NDArray[np.float64]

StalenessFactor = Callable[[ArrayLike], FloatArray]
"""phi: the factor on the mixing weight of a local model that is s aggregations old; same shape as s."""


@dataclass(frozen=True)
class Constant:
    """phi(s) = 1: staleness does not matter."""

    def __call__(self, staleness: ArrayLike) -> FloatArray:
        """Factor for each staleness."""
        return np.ones_like(_stale(staleness))


@dataclass(frozen=True)
class Hinge:
    """phi(s) = 1 if s <= b, else 1 / (a (s - b) + 1)."""

    a: float
    b: float

    def __post_init__(self) -> None:
        _check_not_negative("hinge.a", self.a)
        _check_not_negative("hinge.b", self.b)

    def __call__(self, staleness: ArrayLike) -> FloatArray:
        """Factor for each staleness."""
        return np.asarray(1.0 / (self.a * np.maximum(_stale(staleness) - self.b, 0.0) + 1.0))


@dataclass(frozen=True)
class Polynomial:
    """phi(s) = (s + 1)^(-a): what the paper's runs use."""

    a: float

    def __post_init__(self) -> None:
        _check_not_negative("polynomial.a", self.a)

    def __call__(self, staleness: ArrayLike) -> FloatArray:
        """Factor for each staleness."""
        return np.asarray((_stale(staleness) + 1.0) ** -self.a)


def mix_weight(
    alpha: float,
    phi: StalenessFactor,
    staleness: ArrayLike,
    slot: ArrayLike = 0,
    mix_decay: float | None = None,
) -> FloatArray:
    """Weight of a local model in slot g: alpha phi(s), times (1 + g / mix_decay)^(-1/2) where that is set.

    Differs from Eq. (global_aggregation_rule), whose weight is alpha: both factors are settings of the task.
    """
    weight = alpha * phi(staleness)
    if mix_decay is None:
        return np.asarray(weight)
    if not mix_decay > 0:
        raise bad_input("mix_decay", "must be > 0", mix_decay, "Leave it out for a constant mixing weight.")
    return np.asarray(weight * (1.0 + np.asarray(slot, dtype=np.float64) / mix_decay) ** -0.5)


def mix(global_: Vector, local: Vector, weight: float | FloatArray, out: Vector | None = None) -> Vector:
    """(1 - weight) w + weight w_local, Eq. (global_aggregation_rule); `out` may be `global_` to mix in place."""
    share = float(weight)
    mixed = np.multiply(global_, 1.0 - share, out=out)
    mixed += np.multiply(local, share)
    return mixed


def _stale(staleness: ArrayLike) -> FloatArray:
    s = np.asarray(staleness, dtype=np.float64)
    if (s < 0).any():
        raise bad_input(
            "staleness", "must be >= 0", float(s.min()), "A model cannot be newer than the global one."
        )
    return s


def _check_not_negative(name: str, value: float) -> None:
    if not (np.isfinite(value) and value >= 0):
        raise bad_input(name, "must be a finite number >= 0", value, "Stale models may not gain weight.")
