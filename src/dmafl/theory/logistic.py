"""Shares of right answers and their logits."""

from __future__ import annotations

import numpy as np

from dmafl.base.arrays import FloatArray

STEEPEST = 40.0
"""Exponents beyond this are 0 or 1 to the last digit."""
LEAST = 0.01
"""Shares nearer to 0 or 1 than this are taken for it where a logit is wanted: it would say nothing."""


def sigmoid(lead: FloatArray) -> FloatArray:
    """1 / (1 + exp(-lead))."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(lead, -STEEPEST, STEEPEST))))


def logit(share: FloatArray) -> FloatArray:
    """log(p / (1 - p))."""
    inside = np.clip(share, LEAST, 1.0 - LEAST)
    return np.asarray(np.log(inside / (1.0 - inside)))
