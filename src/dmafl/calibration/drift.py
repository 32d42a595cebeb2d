"""How fast the loss of a task changes as its data streams go on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.calibration.estimate import Estimate
from dmafl.learning.arrays import Vector
from dmafl.learning.evaluation import evaluate
from dmafl.training.trainer import TaskTrainer

PROGRESS = np.linspace(0.0, 1.0, 5)
"""Progress of the stream at which the loss is evaluated."""


def drift(trainer: TaskTrainer, points: Sequence[Vector], window_s: FloatArray) -> dict[str, Estimate]:
    """Loss per second that each device's stream adds to the global loss. Definition 2."""
    settings = trainer.settings
    slopes = np.zeros((len(points), len(window_s), len(PROGRESS) - 1))
    for p, w in enumerate(points):
        for i in range(len(window_s)):
            losses = [evaluate(trainer.model, w, trainer.local_inputs(i, float(at))).loss for at in PROGRESS]
            slopes[p, i] = np.diff(losses) / np.diff(PROGRESS) / len(window_s)
    signed, size = slopes.mean(axis=2), np.abs(slopes).mean(axis=2)
    n = slopes.size
    estimates = {}
    for phase, rate, override in (
        ("idle", settings.drift.idle_rate, settings.drift.idle_per_s),
        ("active", settings.drift.active_rate, settings.drift.active_per_s),
    ):
        for kind, values in (("", signed), ("_size", size)):
            per_s = values * rate / window_s
            text = "change of the local loss along the stream at visited models, over I and the window"
            if override is not None:
                per_s = np.full_like(per_s, override)
                text = "set by the scenario"
            estimates[f"drift_{phase}{kind}"] = Estimate.mean(per_s, n, text)
    return estimates
