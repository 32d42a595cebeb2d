"""Problems whose constants are known in closed form: two classes, pictures of 4x4 pixels, models of the user's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from dmafl.calibration.estimate import Estimate
from dmafl.calibration.estimates import estimate_task
from dmafl.data import Dataset
from dmafl.training.components import Components
from dmafl.training.trainer import Trainer
from dmafl.world.drift.streams import View
from support.small_runs import FEATURES, SIDE, scenario

STILL = 1e-7
"""A learning rate at which the models visited are the first one, but for rounding."""
DEVICES = 4


def dataset(images: NDArray[np.uint8], labels: NDArray[np.uint8]) -> Dataset:
    """Training data; two test samples make sure that there are two classes."""
    test = np.zeros((2, SIDE, SIDE), dtype=np.uint8)
    return Dataset("known", images, labels, test, np.asarray([0, 1], dtype=np.uint8), "test", "0" * 64)


def trainer(data: Dataset, model: Any, *, parameters: int, streams: Any = None, **task: Any) -> Trainer:
    """A trainer of one task with `model` on `data`, a quarter of the samples on each device."""
    settings = {
        "parameters": parameters,
        "samples": len(data.x_train) // DEVICES,
        "learning_rate": STILL,
        "proximal": 0.0,
        "drift": {"kind": "none"},
        "window_s": 50.0,
    }
    of = scenario({"one": settings | task}, devices=DEVICES)
    return Trainer(of, Components(models={"one": model}, data={"one": data}, streams=streams or {}))


def estimates(of: Trainer) -> dict[str, Estimate]:
    """What is measured of it."""
    return estimate_task(of, 0)


def relative_error(one: Estimate, truth: Any) -> float:
    """Largest error over the largest true value."""
    return float(np.max(np.abs(np.asarray(one.value) - truth)) / np.max(np.abs(truth)))


# -- softmax regression from zero -----------------------------------------------------------------------------------


def zero_softmax() -> nn.Module:
    """Two classes, every weight 0, so that both have probability 1/2 for every sample."""
    layer = nn.Linear(FEATURES, 2)
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return nn.Sequential(nn.Flatten(), layer)


SOFTMAX_PARAMETERS = 2 * (FEATURES + 1)
LIT = 6
"""Pixels of a picture that are white; the others are black."""


def lit_pictures(count: int = 160, seed: int = 0) -> Dataset:
    """Pictures with equally many white pixels, so that all have one norm; those of class 1 are lower."""
    rng = np.random.default_rng(seed)
    labels = (np.arange(count) % 2).astype(np.uint8)
    images = np.zeros((count, FEATURES), dtype=np.uint8)
    for row, label in zip(images, labels, strict=True):
        row[4 * label + rng.permutation(FEATURES - 4)[:LIT]] = 255
    return dataset(images.reshape(count, SIDE, SIDE), labels)


@dataclass(frozen=True, eq=False)
class Samples:
    """The samples of a device as numbers: pixels with a constant 1 for the bias, and labels."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]

    def gradients(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Gradient of the loss of every sample at W (2, features + 1), (n, 2, features + 1)."""
        scores = self.x @ w.T
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        return (p - self.y)[:, :, None] * self.x[:, None, :]


def samples_of(of: Trainer) -> list[Samples]:
    """What every device of a trainer has, taken from the data themselves."""
    task_trainer = of.tasks[0]
    found = []
    for device in range(DEVICES):
        rows = task_trainer.stream.local(device, 0.0).rows
        x = task_trainer.data.x_train[rows].reshape(len(rows), -1) / 255.0
        found.append(
            Samples(
                np.concatenate([x, np.ones((len(rows), 1))], axis=1),
                np.eye(2)[task_trainer.data.y_train[rows]],
            )
        )
    return found


def matrix(w: NDArray[np.float32]) -> NDArray[np.float64]:
    """The parameters of `zero_softmax` as weights with the bias as last column."""
    split = 2 * FEATURES
    return np.concatenate([w[:split].reshape(2, FEATURES), w[split:, None]], axis=1).astype(np.float64)


# -- a saddle whose curvatures are set ------------------------------------------------------------------------------

UP, DOWN = 3.0, 1.0
"""Curvatures of the loss: +UP along half of the parameters, -DOWN along the others."""
HALF = 20


class Saddle(nn.Module):
    """Scores (c, 0) with c = DOWN |b|^2 - UP |a|^2 whatever the input.

    The loss of class 0 is log(1 + exp(-c)), so at 0 its gradient is 0 and its curvatures are +UP and -DOWN.
    """

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Parameter(torch.zeros(HALF)), nn.Parameter(torch.zeros(HALF))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        c = DOWN * (self.b**2).sum() - UP * (self.a**2).sum()
        return torch.stack([c, torch.zeros(())]).expand(len(x), 2)


def class_0(count: int = 80) -> Dataset:
    """Pictures of one class."""
    rng = np.random.default_rng(1)
    images = rng.integers(0, 256, (count, SIDE, SIDE), dtype=np.uint8)
    return dataset(images, np.zeros(count, dtype=np.uint8))


# -- a loss that drifts at a set rate -------------------------------------------------------------------------------

SLOPE = 2.0


class Brightness(nn.Module):
    """Scores (SLOPE * brightness, 0): bright pictures of class 0 have a small loss."""

    def __init__(self) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.full((1,), SLOPE))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        score = self.slope * x.mean(dim=(1, 2, 3))
        return torch.stack([score, torch.zeros_like(score)], dim=1)


def loss_at(brightness: float) -> float:
    """Loss of a picture of class 0 under `Brightness`."""
    return float(np.log1p(np.exp(-SLOPE * brightness)))


SHADES = (0.0, 0.4, 1.0)
EACH = 40
"""Pictures of each shade."""


def shades() -> Dataset:
    """Grey pictures of class 0, EACH of each shade."""
    values = np.repeat([round(255 * shade) for shade in SHADES], EACH).astype(np.uint8)
    images = np.broadcast_to(values[:, None, None], (len(values), SIDE, SIDE)).copy()
    return dataset(images, np.zeros(len(values), dtype=np.uint8))


class Dimming:
    """Device 0 goes from shade 2 to 1, device 1 from 0 to 2, device 2 to 1 and back to 0, device 3 stays at 1."""

    PATHS = ((2, 1, 1.0), (0, 2, 1.0), (0, 1, 0.5), (1, 1, 1.0))

    def local(self, device: int, progress: float) -> View:
        begin, end, turn = self.PATHS[device]
        way = progress if turn == 1.0 else 1.0 - abs(2.0 * progress - 1.0)
        changed = round(EACH * way)
        rows = np.concatenate([end * EACH + np.arange(changed), begin * EACH + np.arange(changed, EACH)])
        return View(rows)

    def test(self, progress: float) -> View:
        return View()
