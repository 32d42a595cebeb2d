"""Models at which the constants of a task are measured."""

from __future__ import annotations

import numpy as np

from dmafl.learning.arrays import Vector
from dmafl.training.trainer import Trainer, TrainingOrder

POINTS = 3
"""Models at which everything is measured: the first one and later ones of a short training."""
SLOTS_BETWEEN_POINTS = 10


def visited_models(trainer: Trainer, task: int, count: int = POINTS) -> list[Vector]:
    """The first model, and models of a short round robin without staleness, with the task's mean steps and batch."""
    settings = trainer.tasks[task].settings
    devices = trainer.scenario.fleet.devices
    steps = (settings.steps_min + settings.steps_max) // 2
    batch = min((settings.batch_min + settings.batch_max) // 2, settings.samples_at_start)
    model = trainer.first_model(task)
    points = [model]
    number = 10**9  # not used by runs and probes, so that batches differ from theirs
    for k in range((count - 1) * SLOTS_BETWEEN_POINTS):
        order = TrainingOrder(task, k % devices, number + k, 0.0, steps, batch)
        local = trainer.train(order, model)
        model = np.asarray((1 - settings.mixing) * model + settings.mixing * local, dtype=np.float32)
        if (k + 1) % SLOTS_BETWEEN_POINTS == 0:
            points.append(model)
    return points
