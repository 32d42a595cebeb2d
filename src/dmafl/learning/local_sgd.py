"""Local training of a received model: SGD with a proximal term. Eq. (locIter)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch.autograd import backward
from torch.nn.functional import cross_entropy

from dmafl.base.errors import bad_input
from dmafl.learning.arrays import Rows, Vector
from dmafl.learning.divergence import check_trained
from dmafl.learning.fitting import check_fit
from dmafl.learning.inputs import Inputs
from dmafl.learning.linear import train_linear
from dmafl.learning.parameters import FlatModel
from dmafl.learning.sampling import Sampling, batches
from dmafl.learning.tensors import tensors


@dataclass(frozen=True, eq=False)
class Trained:
    """A local model, and the batch size it was trained with."""

    parameters: Vector
    batch: int
    asked_batch: int

    @property
    def batch_was_cut(self) -> bool:
        """Whether the device had fewer samples than the batch size asked for."""
        return self.batch < self.asked_batch


def train(
    model: FlatModel,
    received: Vector,
    data: Inputs,
    *,
    steps: int,
    batch: int,
    learning_rate: float,
    proximal: float,
    generator: np.random.Generator,
    sampling: Sampling = "fresh",
) -> Trained:
    """The final local model after `steps` steps of Eq. (locIter) on Eq. (regularized_local_loss_function).

    w <- w - learning_rate * (gradient of the batch loss + proximal * (w - received)); a batch has `batch`
    samples of `data`, or all of them where there are fewer. A linear model takes the path in `linear`,
    others the general one; both see the same batches. All randomness comes from `generator`.
    """
    _check_settings(steps, batch, learning_rate, proximal)
    check_fit(model, data)
    received = model.checked(received)
    used = min(batch, len(data))
    noise = int(generator.integers(1 << 63))  # drawn on every path, so that all see the same batches
    drawn = batches(generator, len(data), used, steps, sampling)
    if model.linear is not None:
        trained = train_linear(received, model.linear, data, drawn, used, learning_rate, proximal)
    else:
        trained = _train_module(model, received, data, drawn, learning_rate, proximal, noise)
    check_trained(trained, received, data, steps, learning_rate)
    return Trained(trained, used, batch)


def _train_module(
    model: FlatModel,
    received: Vector,
    data: Inputs,
    drawn: Iterator[Rows],
    learning_rate: float,
    proximal: float,
    noise: int,
) -> Vector:
    module, w, gradient = model.module, model.vector, model.gradient
    model.load(received)
    head = w[: model.trained]
    start = head.clone() if proximal else head
    module.train()
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(noise)
        for positions in drawn:
            for rows in positions:
                samples, labels = tensors(data, rows, model.device)
                gradient.zero_()
                backward(cross_entropy(module(samples), labels))
                if proximal:
                    head.lerp_(start, learning_rate * proximal)
                head.add_(gradient[: model.trained], alpha=-learning_rate)
    return model.values()


def _check_settings(steps: int, batch: int, learning_rate: float, proximal: float) -> None:
    if steps < 1:
        raise bad_input("steps", "must be >= 1", steps, "A job has at least one SGD step.")
    if batch < 1:
        raise bad_input("batch", "must be >= 1", batch, "A step needs at least one sample.")
    if not (math.isfinite(learning_rate) and learning_rate > 0):
        raise bad_input("learning_rate", "must be a finite number > 0", learning_rate, "Try 0.01 to 0.1.")
    if not (math.isfinite(proximal) and proximal >= 0):
        raise bad_input("proximal", "must be a finite number >= 0", proximal, "Set 0 for plain SGD.")
