"""The squared gradient norm of the global loss, from a fixed small sample of the devices' data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dmafl.base.randomness import generator
from dmafl.learning.arrays import Vector
from dmafl.learning.evaluation import gradient
from dmafl.learning.inputs import Inputs
from dmafl.learning.parameters import FlatModel
from dmafl.training.views import shown_together
from dmafl.world.drift.streams import Stream, View

MOST, FEWEST = 400, 40
"""Samples over all devices, both halves together."""
OF_A_TEST = 0.2
"""Samples as a share of those that a model is tested on: a gradient costs about three times a test's pass."""


class GradientSample:
    """Which samples of which devices stand for all of them; they depend on the seed and the task alone.

    A device's samples are those with the smallest keys among what it has at the moment: a simple random sample that
    changes no more than the data do.
    """

    def __init__(self, devices: int, training_samples: int, tested_on: int, seed: int, task: int) -> None:
        rng = generator(seed, "gradient sample", task)
        size = min(MOST, max(FEWEST, int(OF_A_TEST * tested_on)))
        self._keys = rng.permutation(training_samples)
        order = rng.permutation(devices)
        self._all = 2 * devices <= size
        self._each = size // (2 * devices) if self._all else 1
        self.devices: list[int] = (
            list(range(devices)) if self._all else order[: min(size, devices) // 2 * 2].tolist()
        )
        """Devices whose data are used: all of them, or for large fleets as many as there are samples."""

    def norm2(
        self, model: FlatModel, parameters: Vector, inputs: Inputs, stream: Stream, progress: Sequence[float]
    ) -> float | None:
        """Estimate of ||grad F||^2, F the mean of the local losses; `progress` says how far each stream has come.

        The square of a sampled gradient is too large by about tr(cov)/n. Two halves of the sample err independently,
        so their inner product is right on average (and may be slightly negative). Their dependence, since
        samples are drawn without replacement, is corrected, so that with every sample in use it is the squared norm
        itself. None where a device has fewer than two samples.
        """
        views = [stream.local(i, came) for i, came in zip(self.devices, progress, strict=True)]
        held = [np.arange(len(inputs)) if view.rows is None else view.rows for view in views]
        each = min(self._each, *(len(rows) // 2 if self._all else len(rows) for rows in held))
        if each < 1:
            return None
        if self._all:
            chosen = [self._first(rows, 2 * each) for rows in held]
            halves = [[rows[half::2] for rows in chosen] for half in (0, 1)]
            of_half = [views, views]
            used = 2 * each * len(views) / sum(len(rows) for rows in held)
        else:
            halves = [[self._first(rows, each) for rows in held[half::2]] for half in (0, 1)]
            of_half = [views[half::2] for half in (0, 1)]
            used = 0.0
        with np.errstate(all="ignore"):
            a, b = (
                gradient(model, parameters, shown_together(inputs, _with_rows(shown, rows))).astype(
                    np.float64
                )
                for shown, rows in zip(of_half, halves, strict=True)
            )
            norm2 = float(a @ b + used / 4.0 * ((a - b) @ (a - b)))
        return norm2 if np.isfinite(norm2) else None

    def _first(self, rows: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """The `count` of `rows` with the smallest keys, in the order of keys."""
        keys = self._keys[rows]
        near = np.argpartition(keys, count - 1)[:count] if count < len(rows) else np.arange(len(rows))
        return rows[near[np.argsort(keys[near])]]


def _with_rows(views: Sequence[View], rows: Sequence[NDArray[np.int64]]) -> list[View]:
    return [replace(view, rows=chosen) for view, chosen in zip(views, rows, strict=True)]
