"""Curvature of a task's global loss, by power steps on differences of gradients."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dmafl.base.randomness import generator
from dmafl.calibration.estimate import Estimate
from dmafl.learning.arrays import Vector
from dmafl.learning.evaluation import gradient
from dmafl.learning.inputs import Inputs
from dmafl.training.trainer import TaskTrainer

CURVATURE_SAMPLES = 600
POWER_STEPS = 12


def curvature(trainer: TaskTrainer, points: Sequence[Vector], local: Sequence[Inputs]) -> dict[str, Estimate]:
    """Smoothness and weak convexity of the global loss: extreme eigenvalues of its Hessian at `points`."""
    data = _pooled(trainer, local)
    largest, smallest = [], []
    for number, w in enumerate(points):
        top = _eigenvalue(trainer, w, data, 0.0, number)
        low = _eigenvalue(trainer, w, data, abs(top), number) + abs(top)
        largest.append(max(abs(top), abs(low)))
        smallest.append(max(0.0, -low))
    n = len(data) * len(points)
    return {
        "smoothness": Estimate.largest(
            largest,
            n,
            f"largest eigenvalue of the Hessian, {POWER_STEPS} power steps on gradient differences",
        ),
        "weak_convexity": Estimate.largest(
            smallest, n, "most negative eigenvalue of the Hessian, the same way"
        ),
    }


def _pooled(trainer: TaskTrainer, local: Sequence[Inputs]) -> Inputs:
    """Equally many samples of every device in one set, so that its loss is the global loss."""
    each = max(1, CURVATURE_SAMPLES // len(local))
    rows = np.concatenate([data.absolute(np.arange(min(each, len(data)))) for data in local])
    return trainer.train_inputs.select(rows)


def _eigenvalue(trainer: TaskTrainer, w: Vector, data: Inputs, shift: float, number: int) -> float:
    """The eigenvalue of H - shift I with the largest absolute value."""
    rng = generator(trainer.seed, "measure.curvature", trainer.number, number)
    v = rng.standard_normal(len(w))
    v[trainer.model.trained :] = 0.0  # running statistics are no directions of the loss
    v /= np.linalg.norm(v)
    value = 0.0
    # A step of about a thousandth of the parameters' size, but never too small for float32.
    step = 1e-2 * max(1.0, float(np.linalg.norm(w)) * 1e-1)
    for _ in range(POWER_STEPS):
        forth = gradient(trainer.model, (w + step * v).astype(np.float32), data).astype(np.float64)
        back = gradient(trainer.model, (w - step * v).astype(np.float32), data).astype(np.float64)
        product = (forth - back) / (2 * step) - shift * v
        value = float(v @ product)
        norm = float(np.linalg.norm(product))
        if norm == 0.0:
            return 0.0
        v = product / norm
    return value
