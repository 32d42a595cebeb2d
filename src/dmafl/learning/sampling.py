"""Which samples each SGD step sees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

import numpy as np

from dmafl.base.errors import bad_input
from dmafl.learning.arrays import Rows

Sampling = Literal["fresh", "epoch"]

_CHUNK = 1 << 15
"""Positions drawn at once: enough to amortise the calls, small enough to stay in cache."""
_SPARSE = 4
"""Below one sample in four, redrawing repeats is faster than shuffling all positions (measured)."""


def batches(
    generator: np.random.Generator, samples: int, batch: int, steps: int, sampling: Sampling = "fresh"
) -> Iterator[Rows]:
    """Positions of `steps` batches out of `samples`, in pieces of shape (n, batch) that add up to `steps` rows.

    "fresh": every step a simple random sample without replacement, independent of the other steps.
    "epoch": shuffled passes over the data; samples that do not fill a batch at the end of a pass are not used.
    """
    if sampling == "epoch":
        return _passes(generator, samples, batch, steps)
    if sampling == "fresh":
        return _fresh(generator, samples, batch, steps)
    raise bad_input(
        "sampling",
        f"must be one of {', '.join(get_args(Sampling))}",
        sampling,
        "Bounds are claimed for fresh only.",
    )


def simple_random_samples(generator: np.random.Generator, samples: int, batch: int, count: int) -> Rows:
    """`count` independent simple random samples of exactly `batch` of `samples` positions, one sample per row."""
    if batch == samples:
        return np.broadcast_to(np.arange(samples), (count, samples))
    if samples < _SPARSE * batch:
        positions = np.empty((count, samples), dtype=np.intp)
        positions[:] = np.arange(samples)
        return generator.permuted(positions, axis=1, out=positions)[:, :batch]
    return _redrawn(generator, samples, batch, count)


def _redrawn(generator: np.random.Generator, samples: int, batch: int, count: int) -> Rows:
    # The first `batch` distinct values of a sequence of independent uniform draws are a simple random sample.
    # Each pass replaces the repeats, and no more, by the next draws of its row's sequence.
    kind = np.int32 if samples <= np.iinfo(np.int32).max else np.int64
    drawn = generator.integers(0, samples, (count, batch), dtype=kind)
    while True:
        drawn.sort(axis=1)
        repeated = drawn[:, 1:] == drawn[:, :-1]
        missing = np.count_nonzero(repeated)
        if missing == 0:
            return drawn.astype(np.intp)
        drawn[:, 1:][repeated] = generator.integers(0, samples, missing, dtype=kind)


def _fresh(generator: np.random.Generator, samples: int, batch: int, steps: int) -> Iterator[Rows]:
    at_once = max(1, _CHUNK // batch)
    for begin in range(0, steps, at_once):
        yield simple_random_samples(generator, samples, batch, min(at_once, steps - begin))


def _passes(generator: np.random.Generator, samples: int, batch: int, steps: int) -> Iterator[Rows]:
    in_a_pass = samples // batch
    for begin in range(0, steps, in_a_pass):
        order = generator.permutation(samples)[: in_a_pass * batch].reshape(in_a_pass, batch)
        yield order[: steps - begin]
