"""How much devices differ: the labels they hold, and Gram matrices from labels or from gradients."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dmafl.learning.arrays import Vector
from dmafl.learning.evaluation import gradient
from dmafl.randomness import FloatArray, generator
from dmafl.simulation.laboratory import Laboratory
from dmafl.theory.features import LabelMix

SKETCHED_ABOVE = 100
"""Devices above which gradients are projected to SKETCH numbers, so that they fit into memory."""
SKETCH = 2048


def label_mix(laboratory: Laboratory, task: int, share: float = 1.0) -> LabelMix:
    """The labels that devices hold when their streams have come to `share`, and those of the test data then."""
    bench = laboratory.tasks[task]
    classes = bench.data.classes
    local = [bench.local_inputs(i, share) for i in range(laboratory.scenario.fleet.devices)]
    held = [_counts(one.labels[one.absolute(np.arange(len(one)))], classes) for one in local]
    view = bench.stream.test(share)
    asked = bench.test_inputs.labels if view.rows is None else bench.test_inputs.labels[view.rows]
    return LabelMix(np.stack(held), _counts(asked if view.labels is None else view.labels[asked], classes))


def gram_of_labels(held: FloatArray) -> FloatArray:
    """Gamma from shares of labels (I, C): inner products of their deviations from the fleet's mean."""
    return _gram(held)


def gram_of_gradients(gradients: Iterable[Vector], *, sketch: int | None = None, seed: int = 0) -> FloatArray:
    """Gamma[i, i'] = <grad F_i - grad F, grad F_i' - grad F>, grad F the mean of the local gradients (I of them).

    `sketch`: project every gradient to so many numbers first; inner products are then right on average, with an
    error of about |grad F_i| |grad F_i'| sqrt(2 / sketch).
    """
    rows = [
        _sketched(one, sketch, seed) if sketch else np.asarray(one, dtype=np.float64) for one in gradients
    ]
    return _gram(np.stack(rows))


def gram_at(laboratory: Laboratory, task: int, parameters: Vector, share: float = 0.0) -> FloatArray:
    """Gamma from the local gradients at one model; sketched for large fleets."""
    bench = laboratory.tasks[task]
    devices = laboratory.scenario.fleet.devices
    gradients = (gradient(bench.model, parameters, bench.local_inputs(i, share)) for i in range(devices))
    sketch = SKETCH if devices > SKETCHED_ABOVE else None
    return gram_of_gradients(gradients, sketch=sketch, seed=laboratory.scenario.seed)


def mean_gram(grams: Iterable[FloatArray]) -> tuple[FloatArray, float]:
    """Mean of Gram matrices measured at several models, and their spread: largest distance from it over its norm."""
    found = np.stack(list(grams))
    mean = found.mean(axis=0)
    size = float(np.linalg.norm(mean))
    apart = max(float(np.linalg.norm(one - mean)) for one in found)
    return mean, apart / size if size > 0 else 0.0


def _counts(labels: NDArray[np.integer], classes: int) -> FloatArray:
    counts = np.bincount(labels, minlength=classes)
    return np.asarray(counts / max(1, len(labels)), dtype=np.float64)


def _gram(rows: FloatArray) -> FloatArray:
    away = rows - rows.mean(axis=0)
    return np.asarray(away @ away.T)


def _sketched(vector: Vector, size: int, seed: int) -> FloatArray:
    """Every entry added to one of `size` sums with a random sign: a random projection in one pass (count sketch)."""
    rng = generator(seed, "gradient sketch", len(vector), size)
    place, sign = rng.integers(0, size, len(vector)), rng.choice([-1.0, 1.0], len(vector))
    return np.asarray(np.bincount(place, sign * vector, minlength=size), dtype=np.float64)
