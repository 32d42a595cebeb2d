"""The curvature of what one-sidedness costs, Gram bias and concentration, in the steps of all jobs."""

from __future__ import annotations

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.theory.features import amount
from dmafl.theory.gram_bias import MEMORY, Factors, remembered
from dmafl.theory.jobs import TaskJobs

FULL_BAND = 120
"""Up to so many slots the Hessian of the Gram bias is kept whole."""
BAND = 24
"""Slots apart from which on it is 0 otherwise."""


def gram_band(balance: Factors, jobs: TaskJobs) -> list[FloatArray]:
    """Diagonals 0, 1, ... of a positive semidefinite estimate of its Hessian in the steps.

    It is a mean of squared lengths |m_k|^2, m_k the mean direction that is remembered; its Hessian without the
    curvature of m_k (Gauss-Newton). Where slots are many, it fades out to a band, which keeps it semidefinite.
    """
    G = len(jobs)
    F = balance.columns[:, balance.sign > 0][jobs.device]
    a = amount(jobs)
    total = remembered(a, MEMORY)
    m = remembered(a[:, None] * F, MEMORY, axis=0) / total[:, None]

    def later(values: FloatArray) -> FloatArray:
        return remembered(values[::-1], MEMORY**2, axis=0)[::-1]

    W, P = later(1.0 / total**2), later(m / total[:, None] ** 2)
    Q = later((m**2).sum(axis=1) / total**2)
    scale = 2.0 / G
    chain = jobs.mix / (2.0 * np.sqrt(jobs.steps))
    width = G if G <= FULL_BAND else BAND
    band = []
    for d in range(width):
        early, late = F[: G - d], F[d:]
        value = (early * late).sum(axis=1) * W[d:] - (P[d:] * (early + late)).sum(axis=1) + Q[d:]
        fade = 1.0 if width == G else 1.0 - d / width
        band.append(scale * fade * MEMORY**d * value * chain[: G - d] * chain[d:])
    return band
