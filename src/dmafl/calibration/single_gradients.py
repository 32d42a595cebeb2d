"""Bounds on the gradients of single samples, from samples and pairs of samples drawn at the visited models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.base.randomness import generator
from dmafl.calibration.estimate import Estimate
from dmafl.learning.arrays import Vector
from dmafl.learning.evaluation import gradient
from dmafl.learning.inputs import Inputs
from dmafl.training.trainer import TaskTrainer, Trainer, TrainingOrder

PAIRS = 60
"""Pairs of samples per model for the variability."""
SINGLE_SAMPLES = 60
"""Samples per model for bounds on single gradients."""
_SAMPLES_PER_JOB = 10
_FIRST_JOB = 2 * 10**9
"""Jobs are numbered from here, away from those of runs and probes, so that their batches differ."""


def single_gradients(
    trainer: Trainer, task: int, points: Sequence[Vector], local: Sequence[Inputs]
) -> dict[str, Estimate]:
    """Bounds on the squared norms of single gradients, and the variability of gradients over data."""
    rng = generator(trainer.tasks[task].seed, "measure.single", task)
    bounds, regularised, ratios = [], [], []
    for number, w in enumerate(points):
        bound, ratio = _pairs(trainer.tasks[task], w, local, rng)
        bounds.append(bound)
        ratios.append(ratio)
        after_jobs = _after_jobs(trainer, task, number, w, local, rng)
        regularised.append(max([bound, *after_jobs]))
    n = len(points) * PAIRS
    note = "largest over sampled data and visited models: a lower estimate of the supremum"
    return {
        "gradient_bound": Estimate.largest(bounds, 2 * n, f"squared norm of a gradient, {note}"),
        "regularised_gradient_bound": Estimate.largest(
            regularised,
            2 * n + len(points) * SINGLE_SAMPLES,
            f"squared norm of a gradient with the proximal term, {note}",
        ),
        "variability": Estimate.largest(
            ratios, n, f"gradient difference over data difference of pairs, {note}"
        ),
    }


def _pairs(
    trainer: TaskTrainer, w: Vector, local: Sequence[Inputs], rng: np.random.Generator
) -> tuple[float, float]:
    """Largest squared norm of a gradient, and largest ratio of gradient to data difference, over random pairs."""
    norms2, ratios = [], []
    for _ in range(PAIRS):
        data = local[int(rng.integers(len(local)))]
        if len(data) < 2:
            continue
        a, b = rng.choice(len(data), 2, replace=False)
        first, second = (_gradient(trainer, w, data, int(k)) for k in (a, b))
        norms2.append(max(float(first @ first), float(second @ second)))
        distance = np.linalg.norm(
            data.batch(np.asarray([a]))[0].ravel() - data.batch(np.asarray([b]))[0].ravel()
        )
        if distance > 0:
            ratios.append(float(np.linalg.norm(first - second) / distance))
    return max(norms2, default=0.0), max(ratios, default=0.0)


def _after_jobs(
    trainer: Trainer, task: int, number: int, w: Vector, local: Sequence[Inputs], rng: np.random.Generator
) -> list[float]:
    """Squared norms of single gradients with the proximal term, at the local models of long jobs from `w`."""
    settings = trainer.tasks[task].settings
    norms2 = []
    for k in range(SINGLE_SAMPLES // _SAMPLES_PER_JOB):
        device = int(rng.integers(len(local)))
        data = local[device]
        batch = min(settings.batch_max, len(data))
        order = TrainingOrder(task, device, _FIRST_JOB + 100 * number + k, 0.0, settings.steps_max, batch)
        moved = trainer.train(order, w)
        pull = settings.proximal * (moved - w).astype(np.float64)
        for row in rng.choice(len(data), min(_SAMPLES_PER_JOB, len(data)), replace=False):
            regularised = _gradient(trainer.tasks[task], moved, data, int(row)) + pull
            norms2.append(float(regularised @ regularised))
    return norms2


def _gradient(trainer: TaskTrainer, w: Vector, data: Inputs, row: int) -> FloatArray:
    """The gradient of one sample."""
    return gradient(trainer.model, w, data.select([row])).astype(np.float64)
