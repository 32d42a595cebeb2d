"""Softmax regression by hand in NumPy: local SGD, loss and gradient of one linear layer.

The same mathematics as a torch module on the same batches, several times faster, because a step is a dozen
calls on small arrays: weights and biases are one matrix, samples carry a constant entry for the bias,
everything is class-major, and the factor from stored to real pixels is taken out of the samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dmafl.learning.arrays import Rows, Vector
from dmafl.learning.inputs import Inputs

Matrix = NDArray[np.float32]

_ALIGNED = 16
"""Columns are padded to a multiple of this many floats, one cache line."""
_PRODUCT = 64
"""Samples in one product. OpenBLAS computes products this small on its fast path for small matrices, in one
thread: 45 us for both products of 128 samples instead of 109, and the same bits for any number of threads."""
_EVALUATION_BLOCK = 512

_quiet = np.errstate(over="ignore", invalid="ignore", under="ignore")
"""A diverging run is reported once, by `divergence`, not by a warning a step."""


class LinearShape(NamedTuple):
    """Sizes of a linear layer."""

    classes: int
    features: int


class Samples:
    """A buffer for up to `size` samples as rows of `matrix`, with a last entry for the bias.

    matrix: (size, width); the real samples, with a 1 for the bias, are `unit * matrix`.
    """

    def __init__(self, data: Inputs, size: int) -> None:
        features = data.flat.shape[1]
        self._flat = data.flat
        self._raw = np.empty((size, features), dtype=data.flat.dtype)
        self.matrix: Matrix = np.zeros((size, _width(features)), dtype=np.float32)
        self._values = self.matrix[:, :features]
        if isinstance(data.scale_row, float):
            self.unit = data.scale_row
            self._scale = None
            self._shift = data.shift_row / data.scale_row
        else:
            self.unit = 1.0
            self._scale = data.scale_row
            self._shift = data.shift_row
        self._shifted = bool(np.any(np.not_equal(self._shift, 0.0)))
        self.matrix[:, features] = 1.0 / self.unit

    def fill(self, rows: Rows) -> None:
        """Put the samples at `rows` of the arrays into the first rows of the matrix."""
        raw, values = self._raw, self._values
        if len(rows) < len(raw):
            raw, values = raw[: len(rows)], values[: len(rows)]
        self._flat.take(rows, 0, raw, "clip")
        np.copyto(values, raw)
        if self._scale is not None:
            np.multiply(values, self._scale, values)
        if self._shifted:
            np.add(values, self._shift, values)


def pack(parameters: Vector, shape: LinearShape) -> Matrix:
    """Flat parameters (weights, then biases) as a padded matrix (classes, width), the biases in a column."""
    packed = np.zeros((shape.classes, _width(shape.features)), dtype=np.float32)
    weights = shape.classes * shape.features
    packed[:, : shape.features] = parameters[:weights].reshape(shape)
    packed[:, shape.features] = parameters[weights:]
    return packed


def unpack(packed: Matrix, shape: LinearShape) -> Vector:
    """The inverse of `pack`."""
    return np.concatenate([packed[:, : shape.features].reshape(-1), packed[:, shape.features]])


@_quiet
def train_linear(
    received: Vector,
    shape: LinearShape,
    data: Inputs,
    batches: Iterable[Rows],
    batch: int,
    learning_rate: float,
    proximal: float,
) -> Vector:
    """Local SGD on a linear model, one step for each row of `batches`.

    Eq. (locIter) on Eq. (regularized_local_loss_function).
    """
    samples = Samples(data, batch)
    weights = pack(received, shape)
    start, moved = weights.copy(), np.zeros_like(weights)
    scores = np.empty((shape.classes, batch), dtype=np.float32)
    of_sample = np.empty(batch, dtype=np.float32)
    change, more = np.empty_like(weights), np.empty_like(weights)
    first, *others = _pieces(samples.matrix, scores)
    unit = np.float32(samples.unit)
    step_size = np.float32(learning_rate * samples.unit / batch)
    kept = np.float32(1.0 - learning_rate * proximal)
    fill, matmul, multiply, subtract, divide = samples.fill, np.matmul, np.multiply, np.subtract, np.divide
    highest, total, exp, add = np.maximum.reduce, np.add.reduce, np.exp, np.add
    for positions in batches:
        rows = data.absolute(positions)
        targets = _one_hot(data.labels[rows], shape.classes, step_size)
        for step in range(len(rows)):
            fill(rows[step])
            matmul(weights, first.columns, first.scores)
            for piece in others:
                matmul(weights, piece.columns, piece.scores)
            multiply(scores, unit, scores)
            highest(scores, 0, out=of_sample)
            subtract(scores, of_sample, scores)
            exp(scores, scores)
            total(scores, 0, out=of_sample)
            divide(step_size, of_sample, of_sample)
            multiply(scores, of_sample, scores)
            subtract(scores, targets[step], scores)  # step_size * (softmax - one-hot)
            matmul(first.scores, first.samples, change)
            for piece in others:
                matmul(piece.scores, piece.samples, more)
                add(change, more, change)
            if proximal:
                multiply(moved, kept, moved)
                subtract(moved, change, moved)
                add(start, moved, weights)
            else:
                subtract(weights, change, weights)
    return unpack(weights, shape)


@_quiet
def evaluate_linear(parameters: Vector, shape: LinearShape, data: Inputs) -> tuple[float, int]:
    """Sum of the cross-entropies [nat] and number of correct samples of a linear model."""
    samples = Samples(data, min(_EVALUATION_BLOCK, len(data)))
    loss, correct = 0.0, 0
    for scores, labels in _blocks(parameters, shape, data, samples):
        correct += int(np.count_nonzero(scores.argmax(axis=0) == labels))
        scores -= scores.max(axis=0)
        of_label = scores[labels, np.arange(len(labels))].astype(np.float64)
        loss += float((np.log(np.exp(scores).sum(axis=0)) - of_label).sum())
    return loss, correct


@_quiet
def gradient_linear(parameters: Vector, shape: LinearShape, data: Inputs) -> Vector:
    """Gradient of the mean cross-entropy of a linear model over all of `data`."""
    samples = Samples(data, min(_EVALUATION_BLOCK, len(data)))
    summed = np.zeros((shape.classes, _width(shape.features)))
    for scores, labels in _blocks(parameters, shape, data, samples):
        scores -= scores.max(axis=0)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=0)
        scores[labels, np.arange(len(labels))] -= 1.0
        for piece in _pieces(samples.matrix[: len(labels)], scores):
            summed += piece.scores @ piece.samples
    return unpack((summed * (samples.unit / len(data))).astype(np.float32), shape)


def _blocks(
    parameters: Vector, shape: LinearShape, data: Inputs, samples: Samples
) -> Iterator[tuple[Matrix, NDArray[np.integer]]]:
    """Scores (classes, n) and labels of all samples, a buffer of them at a time."""
    weights = pack(parameters, shape)
    every = np.arange(len(data))
    at_once = len(samples.matrix)
    for begin in range(0, len(data), at_once):
        rows = data.absolute(every[begin : begin + at_once])
        samples.fill(rows)
        scores = np.empty((shape.classes, len(rows)), dtype=np.float32)
        for piece in _pieces(samples.matrix[: len(rows)], scores):
            np.matmul(weights, piece.columns, piece.scores)
        scores *= np.float32(samples.unit)
        yield scores, data.labels[rows]


class _Piece(NamedTuple):
    """A few samples of a batch, both ways round, and their scores."""

    samples: Matrix
    columns: Matrix
    scores: Matrix


def _pieces(x: Matrix, scores: Matrix) -> list[_Piece]:
    blocks = [slice(begin, begin + _PRODUCT) for begin in range(0, len(x), _PRODUCT)]
    return [_Piece(x[block], x[block].T, scores[:, block]) for block in blocks]


def _one_hot(labels: NDArray[np.integer], classes: int, value: np.float32) -> NDArray[np.float32]:
    """`value` at each sample's label, shape (steps, classes, batch)."""
    steps, batch = labels.shape
    targets = np.zeros((steps, classes, batch), dtype=np.float32)
    targets[np.arange(steps)[:, None], labels, np.arange(batch)] = value
    return targets


def _width(features: int) -> int:
    return -(-(features + 1) // _ALIGNED) * _ALIGNED
