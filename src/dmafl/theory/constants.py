"""The constants that bounds and predictions of one task need; measured, or set by the scenario."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.theory.gram_bias import Factors, factors_of

PER_DEVICE = (
    "sample_variance",
    "dissimilarity",
    "drift_idle",
    "drift_active",
    "drift_idle_size",
    "drift_active_size",
)
NOT_NEGATIVE = (
    "smoothness",
    "local_smoothness",
    "weak_convexity",
    "variability",
    "gradient_bound",
    "regularised_gradient_bound",
    "sample_variance",
    "dissimilarity",
    "drift_idle_size",
    "drift_active_size",
)


@dataclass(frozen=True, eq=False)
class Constants:
    """Constants of one task with I devices.

    Drifts are losses per second and contain Definition 2's factor 1/I; `drift_idle` and `drift_active` are signed
    (what the global loss gains), the `_size` ones absolute.
    """

    smoothness: float
    """beta: smoothness of the global loss."""
    weak_convexity: float
    """rho_w: weak convexity of the global loss."""
    variability: float
    """Theta: how much a sample's gradient changes with the sample."""
    gradient_bound: float
    """V_1: bound on the squared norm of a loss gradient."""
    regularised_gradient_bound: float
    """V_2: the same with the proximal term."""
    first_loss: float
    """F(w0)."""
    lowest_loss: float
    """F*: a lower estimate of the global loss."""
    sample_variance: FloatArray
    """S_i: sample variance of the local data, (I,)."""
    dissimilarity: FloatArray
    """delta_i: squared distance of local and global gradient, (I,)."""
    gram: FloatArray
    """Gamma: inner products of the local gradients' deviations from the global one, (I, I); empty where `factors` has
    it."""
    drift_idle: FloatArray
    drift_active: FloatArray
    drift_idle_size: FloatArray
    drift_active_size: FloatArray
    local_smoothness: float | None = None
    """Smoothness of every local loss, which the block form needs; left out: that of the global one is taken."""
    factors: Factors | None = None
    """Gamma in factors, for fleets so large that the matrix would not fit; `gram` is then empty."""

    def __post_init__(self) -> None:
        devices = len(self.dissimilarity)
        side = devices if self.factors is None else 0
        for name in (*PER_DEVICE, "gram"):
            shape = (side, side) if name == "gram" else (devices,)
            value = np.asarray(getattr(self, name), dtype=np.float64)
            if value.shape != shape:
                raise bad_input(
                    f"constants.{name}",
                    f"must have the shape {shape}",
                    ShownAsIs(str(value.shape)),
                    "Measure again.",
                )
            object.__setattr__(self, name, value)
        for name in self.__dataclass_fields__:
            if name == "factors" or getattr(self, name) is None:
                continue
            value = np.asarray(getattr(self, name))
            if not np.isfinite(value).all() or (name in NOT_NEGATIVE and (value < 0).any()):
                rule = "must be finite" + (" and >= 0" if name in NOT_NEGATIVE else "")
                raise bad_input(f"constants.{name}", rule, ShownAsIs(str(value)), "Measure again.")

    @property
    def devices(self) -> int:
        """Number of devices I."""
        return len(self.dissimilarity)

    @cached_property
    def gram_factors(self) -> Factors:
        """Gamma in factors."""
        return factors_of(self.gram) if self.factors is None else self.factors

    @property
    def gram_diagonal(self) -> FloatArray:
        """Gamma[i, i], (I,)."""
        if self.factors is None:
            return np.diag(self.gram)
        return np.asarray(self.factors.columns**2 @ self.factors.sign)
