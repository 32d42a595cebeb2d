"""Checksums of the modules and streams that a user brings: code cannot be compared, its results can."""

from __future__ import annotations

import hashlib

import numpy as np

from dmafl.learning.evaluation import gradient
from dmafl.training.components import Components
from dmafl.training.trainer import Trainer

PROGRESS = np.linspace(0.0, 1.0, 9)
SAMPLES = 64


def marks(trainer: Trainer, components: Components) -> dict[str, str]:
    """A checksum for each task with a module or stream of the user's own, by name.

    Of a module: its layers, its first parameters and its gradient at these on a few samples. Of a stream: its views
    at a few points of its progress.
    """
    checksums = {}
    for name, of_task in zip(trainer.scenario.tasks, trainer.tasks, strict=True):
        digest = hashlib.sha256()
        if name in components.models:
            few = of_task.train_inputs.select(np.arange(min(SAMPLES, len(of_task.train_inputs))))
            digest.update(repr(of_task.model.module).encode())
            digest.update(of_task.first.tobytes())
            digest.update(gradient(of_task.model, of_task.first, few).tobytes())
        if name in components.streams:
            for progress in PROGRESS.tolist():
                views = [of_task.stream.local(i, progress) for i in range(trainer.scenario.fleet.devices)]
                for view in (*views, of_task.stream.test(progress)):
                    for part in (view.rows, view.labels):
                        digest.update(b"-" if part is None else np.asarray(part, dtype=np.int64).tobytes())
                    digest.update(str(view.roll_px).encode())
        if name in components.partition:
            digest.update(np.ascontiguousarray(of_task.dealt, dtype=np.int64).tobytes())
        if any(name in brought for brought in (components.models, components.streams, components.partition)):
            checksums[name] = digest.hexdigest()
    return checksums
