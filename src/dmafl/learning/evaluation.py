"""How good a model is: loss, accuracy and gradient over a whole set, block by block."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch.autograd import backward
from torch.nn.functional import cross_entropy

from dmafl.base.errors import ShownAsIs
from dmafl.base.randomness import generator
from dmafl.learning.arrays import Vector
from dmafl.learning.divergence import diverged
from dmafl.learning.fitting import check_fit
from dmafl.learning.inputs import Inputs
from dmafl.learning.linear import evaluate_linear, gradient_linear
from dmafl.learning.parameters import FlatModel
from dmafl.learning.sampling import simple_random_samples
from dmafl.learning.tensors import tensors

_BLOCK = 100
"""Samples in one pass: the fastest for the CNN (measured), whose activations then take about 15 MB."""


@dataclass(frozen=True)
class Evaluation:
    """Mean cross-entropy [nat] and share of correct samples."""

    loss: float
    accuracy: float
    samples: int


def evaluate(model: FlatModel, parameters: Vector, data: Inputs) -> Evaluation:
    """Loss F_ij and accuracy of `parameters` on `data`."""
    check_fit(model, data)
    parameters = model.checked(parameters)
    if model.linear is not None:
        loss, correct = evaluate_linear(parameters, model.linear, data)
    else:
        loss, correct = _evaluate_module(model, parameters, data)
    if not math.isfinite(loss):
        raise diverged("loss", ShownAsIs(str(loss)), "Lower the learning rate.")
    return Evaluation(loss / len(data), correct / len(data), len(data))


def gradient(model: FlatModel, parameters: Vector, data: Inputs) -> Vector:
    """Gradient of the mean loss F_ij over all of `data`, flat like `parameters`."""
    check_fit(model, data)
    parameters = model.checked(parameters)
    if model.linear is not None:
        return gradient_linear(parameters, model.linear, data)
    model.load(parameters)
    model.module.eval()
    model.gradient.zero_()
    with torch.enable_grad():
        for rows in _blocks(len(data)):
            samples, labels = tensors(data, rows, model.device)
            backward(cross_entropy(model.module(samples), labels, reduction="sum") / len(data))
    copied: Vector = model.gradient.numpy(force=True).copy()
    return copied


def gradient_norm2(model: FlatModel, parameters: Vector, data: Inputs) -> float:
    """Squared norm of the full gradient, which the bounds limit."""
    full = gradient(model, parameters, data).astype(np.float64)
    return float(full @ full)


def fixed_subset(data: Inputs, size: int, seed: int) -> Inputs:
    """`size` samples of `data`, the same ones for the same seed; all of `data` if it has no more."""
    if size >= len(data):
        return data
    keys = generator(seed, "evaluation subset", len(data), size)
    return data.select(np.sort(simple_random_samples(keys, len(data), size, 1)[0]))


def _evaluate_module(model: FlatModel, parameters: Vector, data: Inputs) -> tuple[float, int]:
    model.load(parameters)
    model.module.eval()
    loss, correct = 0.0, 0
    with torch.no_grad():
        for rows in _blocks(len(data)):
            samples, labels = tensors(data, rows, model.device)
            scores = model.module(samples)
            loss += float(cross_entropy(scores, labels, reduction="sum"))
            correct += int((scores.argmax(dim=1) == labels).sum())
    return loss, correct


def _blocks(size: int) -> list[np.ndarray[tuple[int], np.dtype[np.intp]]]:
    return [np.arange(begin, min(begin + _BLOCK, size)) for begin in range(0, size, _BLOCK)]
