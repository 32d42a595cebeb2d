"""How far one step of `sca` may go, and what bounds exponentials within it."""

from __future__ import annotations

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.planning.sca.relaxation import RelaxedProblem

TRUST = 1.0
"""Logarithms (steps, batch, frequency, length, energy) move by at most this much in one step."""
CURVATURE_BOUND = 2.0 * (np.exp(TRUST) - 1.0 - TRUST) / TRUST**2
"""exp(d) <= 1 + d + CURVATURE_BOUND d^2 / 2 for |d| <= TRUST."""
GROWTH_BOUND = (np.exp(TRUST) - 1.0) / TRUST
"""|exp(d) - 1| <= GROWTH_BOUND |d| for |d| <= TRUST."""
LOGARITHMS = ("steps", "batch", "frequency", "length", "energy")


def within(relaxed: RelaxedProblem, d: FloatArray) -> bool:
    """Whether a step lies in the trust region."""
    return all(
        float(np.abs(task.get(d, part)).max()) <= TRUST * (1 + 1e-9)
        for task in relaxed.tasks
        for part in LOGARITHMS
    )
