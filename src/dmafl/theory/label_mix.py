"""The labels that devices hold, and those that a model is asked about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.base.errors import ShownAsIs, bad_input

_ROUNDING = 1e-12
"""How far a sum of shares may be from 1."""


@dataclass(frozen=True, eq=False)
class LabelMix:
    """The labels that devices hold, and those that the model will be asked about."""

    held: FloatArray
    """Share of each label on each device, (I, C)."""
    asked: FloatArray
    """Share of each label in the test data, (C,)."""

    def __post_init__(self) -> None:
        for name, dimensions in (("held", 2), ("asked", 1)):
            shares = np.asarray(getattr(self, name), dtype=np.float64)
            total = shares.sum(axis=-1, keepdims=True) if shares.ndim == dimensions else np.zeros(1)
            if not (np.isfinite(shares).all() and (shares >= 0).all() and (total > 0).all()):
                rule = f"must be shares of labels, >= 0 with a positive sum, in {dimensions} dimensions"
                raise bad_input(f"labels.{name}", rule, ShownAsIs(str(shares)), "Count the labels again.")
            # Shares that add up to 1 stay as they are, so that a file gives back the very numbers.
            object.__setattr__(self, name, np.where(np.abs(total - 1.0) < _ROUNDING, shares, shares / total))
        if self.held.shape[1] != len(self.asked):
            rule = f"must have the {len(self.asked)} labels of the test data"
            raise bad_input("labels.held", rule, self.held.shape[1], "Count the labels again.")
