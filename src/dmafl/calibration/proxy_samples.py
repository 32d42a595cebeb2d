"""The samples of a proxy model: a few of every class, compressed to the directions in which samples differ most."""

from __future__ import annotations

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.base.processes.one_thread import one_thread
from dmafl.base.randomness import generator
from dmafl.learning.inputs import Inputs
from dmafl.theory.proxy_data import ProxyData
from dmafl.training.trainer import Trainer

FEATURES = 28
"""Directions that are kept."""
TRAIN, TEST = 200, 80
"""Samples of every class to train and to test with; where a class has fewer, they come again."""


@one_thread()
def proxy_samples(trainer: Trainer, task: int) -> ProxyData | None:
    """Samples for the proxy model of a linear task; None for every other model, and where a class has no samples."""
    of_task = trainer.tasks[task]
    if of_task.settings.model != "softmax":
        return None
    classes = of_task.data.classes
    rng = generator(trainer.scenario.seed, "proxy model", task)
    train, test = (
        _of_every_class(inputs, classes, count, rng)
        for inputs, count in ((of_task.train_inputs, TRAIN), (of_task.subset, TEST))
    )
    if train is None or test is None:
        return None
    directions = _directions(train.reshape(-1, train.shape[-1]))
    return ProxyData.of(train @ directions, test @ directions)


def _of_every_class(inputs: Inputs, classes: int, count: int, rng: np.random.Generator) -> FloatArray | None:
    """`count` samples of each class, (C, count, features)."""
    labels = inputs.labels[inputs.absolute(np.arange(len(inputs)))]
    chosen = []
    for number in range(classes):
        there = np.flatnonzero(labels == number)
        if not len(there):
            return None
        chosen.append(np.resize(rng.permutation(there), count))
    samples, _ = inputs.batch(np.concatenate(chosen))
    return np.asarray(samples, dtype=np.float64).reshape(classes, count, -1)


def _directions(samples: FloatArray) -> FloatArray:
    """The directions with the largest squares, (features, d); not centred, since training follows the mean too."""
    _, vectors = np.linalg.eigh(samples.T @ samples)
    return np.ascontiguousarray(vectors[:, ::-1][:, :FEATURES])
