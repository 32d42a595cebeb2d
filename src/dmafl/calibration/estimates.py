"""Estimates of a task's constants from its model and data, each with method, spread and number of samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.calibration.curvature import curvature
from dmafl.calibration.dissimilarity import SKETCH
from dmafl.calibration.drift import drift
from dmafl.calibration.estimate import Estimate
from dmafl.calibration.gram import sketched
from dmafl.calibration.single_gradients import single_gradients
from dmafl.calibration.visited_models import visited_models
from dmafl.learning.arrays import Vector
from dmafl.learning.evaluation import evaluate, gradient
from dmafl.learning.inputs import Inputs
from dmafl.training.trainer import TaskTrainer, Trainer
from dmafl.world.devices import draw_devices

Progress = Callable[[str], None]

MOST_NUMBERS = 50_000_000
"""Numbers in the gradients of all devices above which they are sketched: 400 MB."""


def estimate_task(trainer: Trainer, task: int, progress: Progress = lambda text: None) -> dict[str, Estimate]:
    """All constants of a task by name."""
    task_trainer = trainer.tasks[task]
    devices = range(trainer.scenario.fleet.devices)
    progress("training a little to visit models")
    points = visited_models(trainer, task)
    local = [task_trainer.local_inputs(i, 0.0) for i in devices]
    progress("gradients of all devices")
    gradients = [_gradients(task_trainer, w, local) for w in points]
    losses = [np.asarray([evaluate(task_trainer.model, w, data).loss for data in local]) for w in points]
    count = sum(len(data) for data in local) * len(points)
    estimates = _dissimilarity(gradients, count)
    estimates |= _losses(losses, count)
    progress("curvature")
    estimates |= curvature(task_trainer, points, local)
    progress("single gradients")
    estimates |= single_gradients(trainer, task, points, local)
    estimates["sample_variance"] = _sample_variance(local)
    progress("drift")
    estimates |= drift(task_trainer, points, draw_devices(trainer.scenario).window_s[:, task])
    return estimates


def _gradients(trainer: TaskTrainer, w: Vector, local: Sequence[Inputs]) -> FloatArray:
    """The gradient of every device, (I, M); sketched where those of a large fleet would not fit into memory."""
    size = SKETCH if len(w) * len(local) > MOST_NUMBERS else None
    gradients = (gradient(trainer.model, w, data) for data in local)
    return np.stack([sketched(g, size, trainer.seed) if size else g.astype(np.float64) for g in gradients])


def _dissimilarity(gradients: Sequence[FloatArray], count: int) -> dict[str, Estimate]:
    deviations = [g - g.mean(axis=0) for g in gradients]
    grams = np.stack([d @ d.T for d in deviations])
    delta = np.stack([np.einsum("im,im->i", d, d) for d in deviations])
    return {
        "gram": Estimate.mean(
            grams, count, "inner products of (local - global) gradients, mean over visited models"
        ),
        "dissimilarity": Estimate.largest(
            delta, count, "squared norm of (local - global) gradient, largest over visited models"
        ),
    }


def _losses(losses: Sequence[FloatArray], count: int) -> dict[str, Estimate]:
    means = [float(of_devices.mean()) for of_devices in losses]
    error = float(losses[0].std() / np.sqrt(len(losses[0])))
    return {
        "first_loss": Estimate(
            means[0], means[0] - error, means[0] + error, count, "mean local loss of the first model"
        ),
        "lowest_loss": Estimate(
            0.0,
            0.0,
            min(means),
            count,
            "cross-entropy is never negative; `high` is the lowest loss seen on the way",
        ),
    }


def _sample_variance(local: Sequence[Inputs]) -> Estimate:
    values, spread = [], []
    for data in local:
        x = data.batch(np.arange(len(data)))[0].reshape(len(data), -1).astype(np.float64)
        squares = np.einsum("nm,nm->n", x - x.mean(axis=0), x - x.mean(axis=0))
        values.append(squares.sum() / max(1, len(data) - 1))
        spread.append(squares.std() / np.sqrt(len(data)))
    value, error = np.asarray(values), np.asarray(spread)
    return Estimate(
        value, value - error, value + error, sum(map(len, local)), "sample variance of the local inputs"
    )
