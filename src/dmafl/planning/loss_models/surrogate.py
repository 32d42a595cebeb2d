"""Convex functions that touch the cost of a fixed schedule at a point: what the resource solver minimises.

Parts of a loss that are convex in steps e, work q = e B and times are kept as they are: N^(-1/3), e^2 / q, the
movement of the model. A ratio A / S is taken as (A - r S) / S_0 with r = A_0 / S_0 and the curvature that this leaves
out, as far as it is positive (`bend_of_ratio`); biases of the device mix are linear in e, with a curvature that is
given.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.theory.calibrated import TRAINING_POWER
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.movement import movement, movement_adjoint


@dataclass(frozen=True, eq=False)
class ExpansionPoint:
    """Where a surrogate touches the loss, and how it bends."""

    jobs: TaskJobs
    scores: FloatArray | None
    """Of the classes after every slot, (G, C), where they count."""
    strength: float
    """Of the curvature given to what is not convex."""
    with_bands: bool = False
    """Whether the Hessian of biases has bands of its own beside that curvature."""


@dataclass(frozen=True, eq=False)
class Movement:
    """sum_k [linear_k d_k + square_k d_k^2], d_k the movement of the model while job k is under way."""

    linear: FloatArray
    square: FloatArray
    per_step: FloatArray
    """alpha_k eta_k sqrt(V_2): movement of the model by a step of job k."""

    def gradient_norm(self, jobs: TaskJobs) -> float:
        """sqrt(V_2)."""
        return float((self.per_step / jobs.mix / jobs.rate)[0])

    def travelled(self, jobs: TaskJobs) -> tuple[FloatArray, FloatArray]:
        """d of each job, (G,), and how far the model has moved by each version, (G + 1,)."""
        d = movement(jobs, self.gradient_norm(jobs))
        return d, np.concatenate([[0.0], np.cumsum(self.per_step * jobs.steps + jobs.mix * d)])


@dataclass(frozen=True, eq=False)
class Bend:
    """(1/2) strength (direction' (x - x_0))^2, x the steps, work and computing times."""

    strength: float
    steps: FloatArray
    work: FloatArray
    compute_s: FloatArray


@dataclass(frozen=True, eq=False)
class Surrogate:
    """A convex function of one task's steps, work, computing times and slot times; arrays are (G,).

    steps' e + (1/2) curvature' e^2 + noise' (e^2 / q) + compute_s' T + ends_s' tau
    + training (share' e)^(-1/3) + movement + bend + most_steps (max e) + (1/2) most_curvature (max e)^2
    """

    steps: FloatArray
    curvature: FloatArray
    noise: FloatArray
    compute_s: FloatArray
    ends_s: FloatArray
    """>= 0: slots end as early as can be."""
    training: float = 0.0
    share: FloatArray | None = None
    movement: Movement | None = None
    bend: Bend | None = None
    most_steps: float = 0.0
    most_curvature: float = 0.0
    bands: tuple[list[FloatArray], ...] = ()
    """Further Hessians in the steps by their diagonals 0, 1, ..., which cone programs leave out."""

    def slopes(self, jobs: TaskJobs) -> tuple[FloatArray, FloatArray]:
        """Derivatives, where it touches, with respect to steps and work, (G,) each."""
        e, B = jobs.steps, jobs.batch
        of_steps = self.steps + self.curvature * e + 2.0 * self.noise / B
        if self.share is not None:
            N = float(self.share @ e)
            of_steps = of_steps + self.training * TRAINING_POWER * N ** (TRAINING_POWER - 1.0) * self.share
        if self.movement is not None:
            m = self.movement
            norm = m.gradient_norm(jobs)
            pull = m.linear + 2.0 * m.square * movement(jobs, norm)
            of_steps = of_steps + movement_adjoint(jobs, norm, pull)
        return np.asarray(of_steps), np.asarray(-self.noise / B**2)


def curvature_by_size(slope: FloatArray, e: FloatArray, strength: float) -> FloatArray:
    """A curvature for what is taken as linear in the steps: `strength` times what its slopes bring, (G,)."""
    relative = np.abs(slope * e)
    return np.asarray(strength * (relative + 0.3 * relative.mean()) / e**2)


def bend_of_ratio(
    jobs: TaskJobs, strength: float, A_e: FloatArray, A_q: FloatArray, A_T: FloatArray, S_e: FloatArray
) -> Bend | None:
    """The positive part of -strength (c S' + S c'), c the gradient of A - r S and S that of S, in relative units."""
    e, q, T = jobs.steps, jobs.steps * jobs.batch, jobs.compute_s
    c = np.concatenate([A_e * e, A_q * q, A_T * T])
    s = np.concatenate([S_e * e, np.zeros(2 * len(e))])
    c_size, s_size = float(np.linalg.norm(c)), float(np.linalg.norm(s))
    if not (c_size > 0 and s_size > 0 and strength > 0):
        return None
    u = s / s_size - c / c_size
    length = float(np.linalg.norm(u))
    value = strength * (c_size * s_size - float(c @ s))
    if not (length > 1e-9 and value > 0):
        return None
    of_e, of_q, of_T = np.split(u / length, 3)
    return Bend(value, of_e / e, of_q / q, of_T / T)
