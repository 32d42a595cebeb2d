"""The convex surrogate of the objective of the relaxed problem: linearisation plus measured curvature.

Eq. (convexified_nonconvex_objective). It touches the truth at v_m, in value and gradient, and lies above it in the
trust region (`trust_region.within`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from dmafl.base.arrays import FloatArray
from dmafl.base.randomness import generator
from dmafl.planning.effort import UNLIMITED, Effort
from dmafl.planning.effort_costs import Work
from dmafl.planning.sca.relaxation import RelaxedProblem, RelaxedTask
from dmafl.planning.sca.sparse import sparse_of
from dmafl.planning.sca.trust_region import CURVATURE_BOUND


@dataclass(frozen=True, eq=False)
class Curvature:
    """Of the objective near a point, from above: d' (diag(diagonal) + U' diag(strength) U) d."""

    diagonal: FloatArray
    directions: csr_matrix
    """U: unit vectors in which the objective bends more than elsewhere, (k, n)."""
    strength: FloatArray
    """How much more, (k,)."""
    most: float = 1.0
    """The largest lambda that can be needed."""

    def __call__(self, d: FloatArray) -> float:
        """The quadratic form."""
        return float(self.diagonal @ d**2 + self.strength @ (self.directions @ d) ** 2)

    def weighted(self, weight: FloatArray) -> Curvature:
        """With a weight lambda of every variable, the same for all of one direction."""
        strength = self.strength * (abs(self.directions) @ weight) / _lengths(self.directions)
        return Curvature(self.diagonal * weight, self.directions, strength)


@dataclass(frozen=True, eq=False)
class ObjectiveSurrogate:
    """O(v_m) + grad O d + curvature(d) / 2, where the curvature contains lambda."""

    value: float
    """O(v_m)."""
    gradient: FloatArray
    """Of O at v_m, (n,)."""
    curvature: Curvature
    """Of O around v_m; contains lambda."""

    def above(self, d: FloatArray) -> float:
        """The surrogate."""
        return self.value + float(self.gradient @ d) + 0.5 * self.curvature(d)


LEAST_CURVATURE = 0.05
"""Curvature of a block that is always assumed, in slopes per unit."""
SAFETY = 1.5
"""Factor on a measured curvature, since it changes within the trust region."""


def curvature(relaxed: RelaxedProblem, v: FloatArray, seed: int = 0, effort: Effort = UNLIMITED) -> Curvature:
    """Blocks: shares, steps, batch, computing times, the last end, each of one task; energy, which is exp, by itself.

    The largest eigenvalues of a block are found by subspace iteration on differences of gradients; the smallest of
    them stands for all that are not known. A block has at least what makes a step of one unit cost its slope (of all
    its length, for the end). `most` is the largest eigenvalue of what is left of the Hessian, in units of these.
    """
    rng = generator(seed, "sca.curvature")
    _, slope = relaxed.objective(v)
    diagonal, most = np.zeros(relaxed.size), 1.0
    entries: list[Any] = []
    strengths: list[Any] = []
    for task in relaxed.tasks:
        for name in ("x", "steps", "batch"):
            place = task.at[name]
            size = float(np.ptp(slope[place]) if name == "x" else np.abs(slope[place]).max())
            values, vectors = _eigenvalues(relaxed, task, v, place, rng, effort)
            rest = max(float(np.abs(values).min()), LEAST_CURVATURE * size, 1e-12)
            diagonal[place] = rest
            for value, vector in zip(values, vectors.T, strict=True):
                if value > rest:
                    row = np.full(len(vector), len(strengths))
                    entries.append((row, np.arange(place.start, place.stop), vector))
                    strengths.append(value - rest)
        # The objective is linear in times while the rest stays, and sees few ends, most often only the last.
        diagonal[task.at["compute"]] = max(float(np.abs(task.get(slope, "compute")).max()), 1e-12)
        diagonal[task.at["end"]] = np.abs(task.get(slope, "end")) / np.maximum(task.get(v, "end"), 1.0)
        diagonal[task.at["energy"]] = CURVATURE_BOUND * np.maximum(slope[task.at["energy"]], 1e-12)
    none = np.zeros(0)
    known = Curvature(
        diagonal,
        sparse_of(entries or [(none.astype(int), none.astype(int), none)], (len(strengths), relaxed.size)),
        np.asarray(strengths),
    )
    for task in relaxed.tasks:
        most = max(most, SAFETY * _left(relaxed, task, v, known, rng, effort))
    return replace(known, most=most)


_SMALL = 1e-4
"""Step of the differences of gradients that measure curvature."""


def _hessian(
    relaxed: RelaxedProblem, task: RelaxedTask, v: FloatArray, direction: FloatArray, effort: Effort
) -> FloatArray:
    """The task's Hessian times a direction."""
    effort.spend(Work.CURVATURE, relaxed.problem.quality, task.last - task.first)
    up, down = np.zeros(relaxed.size), np.zeros(relaxed.size)
    step = _SMALL / max(float(np.abs(direction).max()), 1e-300)
    task.objective(v + step * direction, up)
    task.objective(v - step * direction, down)
    return np.asarray((up - down) / (2.0 * step))


_POWER_ITERATIONS = 4
_DIRECTIONS = 3
"""Directions of a block in which the objective may bend more than elsewhere."""


def _eigenvalues(
    relaxed: RelaxedProblem,
    task: RelaxedTask,
    v: FloatArray,
    place: slice,
    rng: np.random.Generator,
    effort: Effort,
) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues of largest size of the Hessian of the variables at `place` along the cover rows, and vectors."""
    along = _Along(task, place)
    size = place.stop - place.start
    count = min(_DIRECTIONS, size)
    basis = np.stack([along(rng.normal(size=size)) for _ in range(count)], axis=1)
    image = basis
    for _ in range(_POWER_ITERATIONS):
        basis = np.linalg.qr(image)[0]
        image = np.zeros_like(basis)
        for k in range(count):
            direction = np.zeros(relaxed.size)
            direction[place] = along(basis[:, k])
            image[:, k] = along(_hessian(relaxed, task, v, direction, effort)[place])
    small = basis.T @ image
    values, rotation = np.linalg.eigh((small + small.T) / 2)
    return values, basis @ rotation


def _left(
    relaxed: RelaxedProblem,
    task: RelaxedTask,
    v: FloatArray,
    modelled: Curvature,
    rng: np.random.Generator,
    effort: Effort,
) -> float:
    """Largest |eigenvalue| of the Hessian less the directions found, in units of the diagonal found."""
    whole = slice(task.first, task.last)
    known = modelled.diagonal[whole] > 0
    scale = np.where(known, 1.0 / np.sqrt(np.where(known, modelled.diagonal[whole], 1.0)), 0.0)
    along = _Along(task, whole)
    direction = along(rng.normal(size=len(scale)) * known)
    largest = 0.0
    for _ in range(_POWER_ITERATIONS):
        moved = np.zeros(relaxed.size)
        moved[whole] = along(scale * direction / max(float(np.linalg.norm(direction)), 1e-300))
        bent = _hessian(relaxed, task, v, moved, effort)
        bent -= modelled.directions.T @ (modelled.strength * (modelled.directions @ moved))
        direction = scale * along(bent[whole])
        largest = float(np.linalg.norm(direction))
    return largest


def _lengths(directions: csr_matrix) -> FloatArray:
    """Sum of absolute entries of each direction."""
    return np.asarray(np.maximum(np.asarray(abs(directions).sum(axis=1)).ravel(), 1e-300))


@dataclass(frozen=True, eq=False)
class _Along:
    """Takes off a direction what would change the sum of a slot's shares, which no step does."""

    task: RelaxedTask
    place: slice

    def __call__(self, direction: FloatArray) -> FloatArray:
        x = self.task.at["x"]
        if not (self.place.start <= x.start and x.stop <= self.place.stop):
            return direction
        out = direction.copy()
        shares = out[x.start - self.place.start : x.stop - self.place.start]
        mean = np.bincount(self.task.slot, shares) / np.bincount(self.task.slot)
        shares -= mean[self.task.slot]
        return out
