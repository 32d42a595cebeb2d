"""Compressed samples of a task with a linear model: what its proxy model is trained and tested with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dmafl.base.arrays import FloatArray

LEVELS = 255
"""Steps between the smallest and the largest value of a feature: samples are kept with one byte per feature."""


@dataclass(frozen=True, eq=False)
class ProxyData:
    """A few compressed samples of every class; in bytes, since they are kept in files.

    A feature of a sample is low + (high - low) * byte / 255. A feature of 1 comes on top, for the bias of each class.
    """

    train: NDArray[np.uint8]
    """Samples to train with, (C, n, d)."""
    test: NDArray[np.uint8]
    """Samples to test with, (C, m, d)."""
    low: FloatArray
    high: FloatArray
    """Smallest and largest value of each feature, (d,)."""

    @classmethod
    def of(cls, train: FloatArray, test: FloatArray) -> ProxyData:
        """From samples of shape (C, n, d) and (C, m, d)."""
        features = np.concatenate([train.reshape(-1, train.shape[-1]), test.reshape(-1, test.shape[-1])])
        low, high = features.min(axis=0), features.max(axis=0)
        width = np.where(high > low, high - low, 1.0)

        def in_bytes(samples: FloatArray) -> NDArray[np.uint8]:
            return np.asarray(np.rint((samples - low) / width * LEVELS), dtype=np.uint8)

        return cls(in_bytes(train), in_bytes(test), low, high)

    @property
    def classes(self) -> int:
        """C."""
        return len(self.train)

    def train_samples(self) -> FloatArray:
        """(C, n, d + 1)."""
        return self._values(self.train)

    def test_samples(self) -> FloatArray:
        """(C, m, d + 1)."""
        return self._values(self.test)

    def _values(self, samples: NDArray[np.uint8]) -> FloatArray:
        values = self.low + (self.high - self.low) * (samples / LEVELS)
        return np.concatenate([values, np.ones((*values.shape[:-1], 1))], axis=-1)
