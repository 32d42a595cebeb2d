"""What a tutorial would write: eager torch, batches cut by hand, SGD by hand. The yardstick of the other rows."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from measures.workload import CLASSES, FEATURES


def softmax() -> nn.Module:
    """Softmax regression, from zero."""
    module = nn.Linear(FEATURES, CLASSES)
    nn.init.zeros_(module.weight)
    nn.init.zeros_(module.bias)
    return module


def cnn() -> nn.Module:
    """The network of SVHN, Table I of the paper."""
    return nn.Sequential(
        nn.Conv2d(3, 32, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(1600, 256),
        nn.ReLU(),
        nn.Linear(256, CLASSES),
    )


class Eager:
    """A module, and the data of one device after another."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module

    def train(
        self, images: torch.Tensor, labels: torch.Tensor, steps: int, batch: int, learning_rate: float
    ) -> None:
        """`steps` steps of SGD from where the module is."""
        for _ in range(steps):
            rows = torch.randperm(len(images))[:batch]
            loss = nn.functional.cross_entropy(self.module(images[rows]), labels[rows])
            self.module.zero_grad()
            torch.autograd.backward(loss)
            with torch.no_grad():
                for weights in self.module.parameters():
                    weights -= learning_rate * weights.grad

    def values(self) -> list[torch.Tensor]:
        """A copy of the parameters."""
        return [weights.detach().clone() for weights in self.module.parameters()]

    def load(self, values: list[torch.Tensor]) -> None:
        """Set the parameters."""
        with torch.no_grad():
            for weights, value in zip(self.module.parameters(), values, strict=True):
                weights.copy_(value)


def as_tensors(images: NDArray[np.float32], labels: NDArray[np.integer]) -> tuple[torch.Tensor, torch.Tensor]:
    """Images with channels first, and labels, as torch wants them."""
    samples = torch.from_numpy(images)
    if samples.dim() == 4:
        samples = samples.permute(0, 3, 1, 2).contiguous()
    return samples, torch.from_numpy(labels.astype(np.int64))
