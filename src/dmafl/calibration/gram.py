"""Gram matrices of the devices' differences, from labels or from gradients."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.base.randomness import generator
from dmafl.learning.arrays import Vector


def gram_of_labels(held: FloatArray) -> FloatArray:
    """Gamma from shares of labels (I, C): inner products of their deviations from the fleet's mean."""
    return _gram(held)


def gram_of_gradients(gradients: Iterable[Vector], *, sketch: int | None = None, seed: int = 0) -> FloatArray:
    """Gamma[i, i'] = <grad F_i - grad F, grad F_i' - grad F>, grad F the mean of the local gradients (I of them).

    `sketch`: project every gradient to this many numbers first; inner products are then unbiased, with an
    error of about |grad F_i| |grad F_i'| sqrt(2 / sketch).
    """
    rows = [sketched(g, sketch, seed) if sketch else np.asarray(g, dtype=np.float64) for g in gradients]
    return _gram(np.stack(rows))


def mean_gram(grams: Iterable[FloatArray]) -> tuple[FloatArray, float]:
    """Mean of Gram matrices measured at several models, and their spread: largest distance from it over its norm."""
    matrices = np.stack(list(grams))
    mean = matrices.mean(axis=0)
    size = float(np.linalg.norm(mean))
    farthest = max(float(np.linalg.norm(matrix - mean)) for matrix in matrices)
    return mean, farthest / size if size > 0 else 0.0


def sketched(vector: Vector, size: int, seed: int) -> FloatArray:
    """Every entry added to one of `size` sums with a random sign: a random projection in one pass (count sketch)."""
    rng = generator(seed, "gradient sketch", len(vector), size)
    place, sign = rng.integers(0, size, len(vector)), rng.choice([-1.0, 1.0], len(vector))
    return np.asarray(np.bincount(place, sign * vector, minlength=size), dtype=np.float64)


def _gram(rows: FloatArray) -> FloatArray:
    deviations = rows - rows.mean(axis=0)
    return np.asarray(deviations @ deviations.T)
