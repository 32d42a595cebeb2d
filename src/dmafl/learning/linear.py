"""Softmax regression in plain NumPy: local SGD, loss and gradient of one linear layer.

The same mathematics as a torch module on the same batches, several times faster, because a step is a dozen
calls on small arrays: weights and biases are one matrix, samples have a constant entry for the bias,
all arrays are class-major, and the factor from stored to real pixels is applied once, not to each sample.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dmafl.learning.arrays import AnyArray, Rows, Vector
from dmafl.learning.inputs import Inputs

Matrix = NDArray[np.float32]

_ALIGNED = 16
"""Columns are padded to a multiple of this many floats, one cache line."""
_PRODUCT = 64
"""Samples in one product. OpenBLAS computes products this small on its fast path for small matrices, in one
thread: 45 us for both products of 128 samples instead of 109, and the same bits for any number of threads."""
_EVALUATION_BLOCK = 512
_KEPT_DESKS, _KEPT_BYTES = 8, 1 << 22
"""Number of desks (work arrays) that a thread keeps for later jobs, and their largest size."""

_quiet = np.errstate(over="ignore", invalid="ignore", under="ignore")
"""A diverging run is reported once, by `divergence`, not by a warning per step."""


class LinearShape(NamedTuple):
    """Sizes of a linear layer."""

    classes: int
    features: int


class Samples:
    """A buffer for up to `size` samples as rows of `matrix`, with a last entry for the bias.

    matrix: (size, width); the real samples, with a 1 for the bias, are `unit * matrix`.
    """

    def __init__(self, features: int, kind: np.dtype[Any], size: int) -> None:
        self._features = features
        self._raw = np.empty((size, features), dtype=kind)
        self.matrix: Matrix = np.zeros((size, _width(features)), dtype=np.float32)
        self._values = self.matrix[:, :features]

    @classmethod
    def of(cls, data: Inputs, size: int) -> Samples:
        """A buffer for `data`."""
        samples = cls(data.flat.shape[1], data.flat.dtype, size)
        samples.suit(data)
        return samples

    def suit(self, data: Inputs) -> None:
        """Take samples of `data` from now on; their type and number of features must be the same."""
        if isinstance(data.scale_row, float):
            self.unit = data.scale_row
            self._scale = None
            self._shift = data.shift_row / data.scale_row
        else:
            self.unit = 1.0
            self._scale = data.scale_row
            self._shift = data.shift_row
        self._shifted = self._shift != 0.0 if isinstance(self._shift, float) else bool(self._shift.any())
        self.matrix[:, self._features] = 1.0 / self.unit

    def fill(self, flat: AnyArray, rows: Rows) -> None:
        """Put the samples at `rows` of `flat`, all samples of the data, into the first rows of the matrix."""
        raw, values = self._raw, self._values
        if len(rows) < len(raw):
            raw, values = raw[: len(rows)], values[: len(rows)]
        flat.take(rows, 0, raw, "clip")
        np.copyto(values, raw)
        if self._scale is not None:
            np.multiply(values, self._scale, values)
        if self._shifted:
            np.add(values, self._shift, values)


def pack(parameters: Vector, shape: LinearShape, packed: Matrix | None = None) -> Matrix:
    """Flat parameters (weights, then biases) as a padded matrix (classes, width), the biases in a column."""
    if packed is None:
        packed = np.empty((shape.classes, _width(shape.features)), dtype=np.float32)
    weights = shape.classes * shape.features
    packed[:, : shape.features] = parameters[:weights].reshape(shape)
    packed[:, shape.features] = parameters[weights:]
    packed[:, shape.features + 1 :] = 0.0
    return packed


def unpack(packed: Matrix, shape: LinearShape) -> Vector:
    """The inverse of `pack`."""
    parameters = np.empty(shape.classes * (shape.features + 1), dtype=packed.dtype)
    weights = shape.classes * shape.features
    parameters[:weights].reshape(shape)[:] = packed[:, : shape.features]
    parameters[weights:] = packed[:, shape.features]
    return parameters


class _Desk:
    """The work arrays of a job's steps. Allocating them costs as much as a step."""

    def __init__(self, shape: LinearShape, batch: int, kind: np.dtype[Any]) -> None:
        self.samples = Samples(shape.features, kind, batch)
        self.scores: Matrix = np.empty((shape.classes, batch), dtype=np.float32)
        self.of_sample: NDArray[np.float32] = np.empty(batch, dtype=np.float32)
        size = (shape.classes, _width(shape.features))
        self.weights, self.start, self.moved, self.change, self.more = (
            np.empty(size, dtype=np.float32) for _ in range(5)
        )
        self.pieces = _pieces(self.samples.matrix, self.scores)


class _Desks(threading.local):
    """The last few desks of a thread, by the sizes of their jobs, except those in use."""

    def __init__(self) -> None:
        self._kept: dict[tuple[LinearShape, int, np.dtype[Any]], _Desk] = {}

    def take(self, shape: LinearShape, batch: int, kind: np.dtype[Any]) -> _Desk:
        """A desk for a job of these sizes."""
        desk = self._kept.pop((shape, batch, kind), None)
        return _Desk(shape, batch, kind) if desk is None else desk

    def put_back(self, desk: _Desk, shape: LinearShape, batch: int, kind: np.dtype[Any]) -> None:
        """Keep a desk for the next job of its sizes, unless it is large."""
        if desk.samples.matrix.nbytes <= _KEPT_BYTES:
            self._kept[(shape, batch, kind)] = desk
            if len(self._kept) > _KEPT_DESKS:
                del self._kept[next(iter(self._kept))]


_desks = _Desks()


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
    desk = _desks.take(shape, batch, data.flat.dtype)
    samples, scores, of_sample, change = desk.samples, desk.scores, desk.of_sample, desk.change
    start, moved, more = desk.start, desk.moved, desk.more
    samples.suit(data)
    weights = pack(received, shape, desk.weights)
    if proximal:
        start[:], moved[:] = weights, 0.0
    first, *others = desk.pieces
    flat, unit = data.flat, np.float32(samples.unit)
    step_size = np.float32(learning_rate * samples.unit / batch)
    retained = np.float32(1.0 - learning_rate * proximal)
    fill, matmul, multiply, subtract = samples.fill, np.matmul, np.multiply, np.subtract
    highest, total, exp, add, divide = np.maximum.reduce, np.add.reduce, np.exp, np.add, np.divide
    for positions in batches:
        rows = data.absolute(positions)
        targets = _one_hot(data.labels[rows], shape.classes, step_size)
        for step in range(len(rows)):
            fill(flat, rows[step])
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
            subtract(scores, targets[:, step], scores)  # step_size * (softmax - one-hot)
            matmul(first.scores, first.samples, change)
            for piece in others:
                matmul(piece.scores, piece.samples, more)
                add(change, more, change)
            if proximal:
                multiply(moved, retained, moved)
                subtract(moved, change, moved)
                add(start, moved, weights)
            else:
                subtract(weights, change, weights)
    trained = unpack(weights, shape)
    _desks.put_back(desk, shape, batch, data.flat.dtype)
    return trained


@_quiet
def evaluate_linear(parameters: Vector, shape: LinearShape, data: Inputs) -> tuple[float, int]:
    """Sum of the cross-entropies [nat] and number of correct samples of a linear model."""
    samples = Samples.of(data, min(_EVALUATION_BLOCK, len(data)))
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
    samples = Samples.of(data, min(_EVALUATION_BLOCK, len(data)))
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
    """Scores (classes, n) and labels of all samples, one buffer at a time."""
    weights = pack(parameters, shape)
    every = np.arange(len(data))
    at_once = len(samples.matrix)
    for begin in range(0, len(data), at_once):
        rows = data.absolute(every[begin : begin + at_once])
        samples.fill(data.flat, rows)
        scores = np.empty((shape.classes, len(rows)), dtype=np.float32)
        for piece in _pieces(samples.matrix[: len(rows)], scores):
            np.matmul(weights, piece.columns, piece.scores)
        scores *= np.float32(samples.unit)
        yield scores, data.labels[rows]


class _Piece(NamedTuple):
    """A few samples of a batch as rows and as columns, and their scores."""

    samples: Matrix
    columns: Matrix
    scores: Matrix


def _pieces(x: Matrix, scores: Matrix) -> list[_Piece]:
    blocks = [slice(begin, begin + _PRODUCT) for begin in range(0, len(x), _PRODUCT)]
    return [_Piece(x[block], x[block].T, scores[:, block]) for block in blocks]


def _one_hot(labels: NDArray[np.integer], classes: int, value: np.float32) -> Matrix:
    """`value` at each sample's label, shape (classes, *labels.shape)."""
    return (_identity(classes) * value).take(labels, 1)


@lru_cache(maxsize=8)
def _identity(classes: int) -> Matrix:
    return np.eye(classes, dtype=np.float32)


def _width(features: int) -> int:
    return -(-(features + 1) // _ALIGNED) * _ALIGNED
