"""`sharp` in block form: a block of slots as one inexact gradient step, which values diverse devices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dmafl.base.arrays import FloatArray
from dmafl.theory.constants import Constants
from dmafl.theory.drift import drift_of_all
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.movement import movement
from dmafl.theory.terms import SumOfTerms


@dataclass(frozen=True)
class BlockBound(SumOfTerms):
    """Bound on the weighted mean squared gradient norm at the first models of the blocks, terms apart."""

    steps: float
    start: float
    drift: float
    gram: float
    """Everything of the squared error of a block's direction: Gram bias, movement, proximal pull, data drift."""
    staleness: float
    curvature: float
    gram_bias: float
    """Weighted mean of p' Gamma p alone, for reading."""

    def terms(self) -> dict[str, float]:
        """The terms by name, each over N; they add up to the bound."""
        names = ("start", "drift", "gram", "staleness", "curvature")
        return {name: getattr(self, name) / self.steps for name in names}


def block(
    jobs: TaskJobs, constants: Constants, first_slots: ArrayLike, gradient_drift: ArrayLike = 0.0
) -> BlockBound:
    """The block form for the cut that begins blocks at `first_slots`, of which the first must be 0.

    `gradient_drift` is lambda_b, the drift of the local gradients within each block (a number, or one per block).
    """
    c = constants
    starts = np.asarray(first_slots, dtype=np.int64)
    if starts.size == 0 or starts[0] != 0 or (np.diff(starts) <= 0).any() or starts[-1] >= len(jobs):
        raise ValueError("blocks must begin at slot 0 and then at increasing slots")
    beta, V1, norm = c.smoothness, c.gradient_bound, np.sqrt(c.regularised_gradient_bound)
    local_beta = c.local_smoothness if c.local_smoothness is not None else beta
    d = movement(jobs, norm)
    local_moved = jobs.steps * jobs.rate * norm
    moved = jobs.mix * (local_moved + d)
    travelled = np.concatenate([[0.0], np.cumsum(moved)])
    weight = jobs.mix * jobs.rate * jobs.steps
    which = np.searchsorted(starts, jobs.slot, side="right") - 1
    n = np.bincount(which, weight, minlength=len(starts))
    share = np.zeros((len(starts), c.devices))
    np.add.at(share, (which, jobs.device), weight)
    share /= n[:, None]
    gram_bias = np.einsum("bi,ij,bj->b", share, c.gram, share).clip(min=0.0)
    away = np.abs(travelled[jobs.version] - travelled[starts[which]]) + local_moved
    reach = np.zeros(len(starts))
    np.maximum.at(reach, which, away)
    pull = np.zeros(len(starts))
    np.maximum.at(pull, which, jobs.proximal * local_moved)
    lam: FloatArray = np.broadcast_to(np.asarray(gradient_drift, dtype=np.float64), (len(starts),))
    error = np.sqrt(gram_bias) + local_beta * reach + pull + lam
    total_moved = np.bincount(which, moved, minlength=len(starts))
    return BlockBound(
        steps=float(weight.sum()),
        start=2.0 * (c.first_loss - c.lowest_loss),
        drift=2.0 * drift_of_all(jobs, c),
        gram=float(np.sum(n * error**2)),
        staleness=float(2 * np.sqrt(V1) * np.sum(jobs.mix * d)),
        curvature=float(beta * np.sum(total_moved**2)),
        gram_bias=float(np.sum(n * gram_bias) / n.sum()),
    )
