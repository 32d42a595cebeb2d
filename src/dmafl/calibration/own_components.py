"""A mark of the modules and streams a user brings: code cannot be compared, what it does at a few points can."""

from __future__ import annotations

import hashlib

import numpy as np

from dmafl.learning.evaluation import gradient
from dmafl.training.trainer import Components, Trainer

SHARES = np.linspace(0.0, 1.0, 9)
SAMPLES = 64


def marks(trainer: Trainer, components: Components) -> dict[str, str]:
    """A checksum for each task with a module or stream of the user's own, by name.

    Of a module: its layers, its first parameters and its gradient there on a few samples. Of a stream: what it shows
    at a few moments.
    """
    found = {}
    for name, bench in zip(trainer.scenario.tasks, trainer.tasks, strict=True):
        digest = hashlib.sha256()
        if name in components.models:
            few = bench.train_inputs.select(np.arange(min(SAMPLES, len(bench.train_inputs))))
            digest.update(repr(bench.model.module).encode())
            digest.update(bench.first.tobytes())
            digest.update(gradient(bench.model, bench.first, few).tobytes())
        if name in components.streams:
            for share in SHARES.tolist():
                views = [bench.stream.local(i, share) for i in range(trainer.scenario.fleet.devices)]
                for view in (*views, bench.stream.test(share)):
                    for part in (view.rows, view.labels):
                        digest.update(b"-" if part is None else np.asarray(part, dtype=np.int64).tobytes())
                    digest.update(str(view.roll_px).encode())
        if name in components.models or name in components.streams:
            found[name] = digest.hexdigest()
    return found
