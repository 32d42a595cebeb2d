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


def label_mix(trainer: Trainer, task: int, share: float = 1.0) -> LabelMix:
    """The labels that devices hold when their streams have come to `share`, and those of the test data then."""
    bench = trainer.tasks[task]
    classes = bench.data.classes
    local = [bench.local_inputs(i, share) for i in range(trainer.scenario.fleet.devices)]
    held = [_counts(one.labels[one.absolute(np.arange(len(one)))], classes) for one in local]
    view = bench.stream.test(share)
    asked = bench.test_inputs.labels if view.rows is None else bench.test_inputs.labels[view.rows]
    return LabelMix(np.stack(held), _counts(asked if view.labels is None else view.labels[asked], classes))


def gram_at(trainer: Trainer, task: int, parameters: Vector, share: float = 0.0) -> FloatArray:
    """Gamma from the local gradients at one model; sketched for large fleets."""
    bench = trainer.tasks[task]
    devices = trainer.scenario.fleet.devices
    gradients = (gradient(bench.model, parameters, bench.local_inputs(i, share)) for i in range(devices))
    sketch = SKETCH if devices > SKETCHED_ABOVE else None
    return gram_of_gradients(gradients, sketch=sketch, seed=trainer.scenario.seed)


def _counts(labels: NDArray[np.integer], classes: int) -> FloatArray:
    counts = np.bincount(labels, minlength=classes)
    return np.asarray(counts / max(1, len(labels)), dtype=np.float64)
