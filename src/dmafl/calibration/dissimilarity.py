"""How much devices differ: the labels they hold, and their gradients at a model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dmafl.base.arrays import FloatArray
from dmafl.calibration.gram import gram_of_gradients
from dmafl.learning.arrays import Vector
from dmafl.learning.evaluation import gradient
from dmafl.theory.label_mix import LabelMix
from dmafl.training.trainer import Trainer

SKETCHED_ABOVE = 100
"""Devices above which gradients are projected to SKETCH numbers, so that they fit into memory."""
SKETCH = 2048


def label_mix(trainer: Trainer, task: int, progress: float = 1.0) -> LabelMix:
    """Shares of the labels that each device holds at its stream's `progress`, and those of the test data then."""
    of_task = trainer.tasks[task]
    classes = of_task.data.classes
    local = [of_task.local_inputs(i, progress) for i in range(trainer.scenario.fleet.devices)]
    held = [_shares(data.labels[data.absolute(np.arange(len(data)))], classes) for data in local]
    view = of_task.stream.test(progress)
    asked = of_task.test_inputs.labels if view.rows is None else of_task.test_inputs.labels[view.rows]
    return LabelMix(np.stack(held), _shares(asked if view.labels is None else view.labels[asked], classes))


def gram_at(trainer: Trainer, task: int, parameters: Vector, progress: float = 0.0) -> FloatArray:
    """Gamma from the local gradients at one model; sketched for large fleets."""
    of_task = trainer.tasks[task]
    devices = trainer.scenario.fleet.devices
    local = (of_task.local_inputs(i, progress) for i in range(devices))
    gradients = (gradient(of_task.model, parameters, data) for data in local)
    sketch = SKETCH if devices > SKETCHED_ABOVE else None
    return gram_of_gradients(gradients, sketch=sketch, seed=trainer.scenario.seed)


def _shares(labels: NDArray[np.integer], classes: int) -> FloatArray:
    counts = np.bincount(labels, minlength=classes)
    return np.asarray(counts / max(1, len(labels)), dtype=np.float64)
