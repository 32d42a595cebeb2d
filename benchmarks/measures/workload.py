"""The same federated averaging for everybody: softmax regression on MNIST's shape, 10 clients a round.

Needs nothing but NumPy, so that the scripts of other libraries use it too.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

CLASSES = 10
FEATURES = 784
CLIENTS = 10
STEPS = 5
BATCH = 32
LEARNING_RATE = 0.05


@dataclass(frozen=True, eq=False)
class Workload:
    """images: (clients, samples, 784) uint8; labels: (clients, samples)."""

    images: NDArray[np.uint8]
    labels: NDArray[np.uint8]

    def save(self, path: Path) -> None:
        """Write both arrays."""
        np.savez(path, **asdict(self))

    @classmethod
    def load(cls, path: Path) -> Workload:
        """From `save`."""
        with np.load(path) as arrays:
            return cls(arrays["images"], arrays["labels"])

    def real_images(self) -> NDArray[np.float32]:
        """Pixels in [0, 1]."""
        return self.images.astype(np.float32) / 255

    def loss(self, weights: Any, biases: Any) -> float:
        """Mean cross-entropy [nat] over all clients' samples; weights: (10, 784), biases: (10,)."""
        samples = self.real_images().reshape(-1, FEATURES).astype(np.float64)
        scores = samples @ np.asarray(weights, dtype=np.float64).T + np.asarray(biases, dtype=np.float64)
        scores -= scores.max(axis=1, keepdims=True)
        of_label = scores[np.arange(len(scores)), self.labels.reshape(-1)]
        return float(np.mean(np.log(np.exp(scores).sum(axis=1)) - of_label))
