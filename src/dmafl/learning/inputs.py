"""Samples of a task, kept in their stored type and converted batch by batch.

uint8 images take a quarter of the memory of float32 ones. Gathering and converting 32 MNIST images takes about
5 us, gathering them as float32 about 3 us, in an SGD step of 33 us: too little gain for four times the memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.learning.arrays import AnyArray, Rows

Layout = Literal["image", "plain"]

MAX_BYTE = 255.0
_BLOCK = 1024


@dataclass(frozen=True, eq=False)
class Inputs:
    """Samples and labels; a network sees `images * scale + shift`.

    images: (N, height, width), (N, height, width, channels) or (N, ...), uint8, float or integer codes.
    labels: (N,), integers from 0.
    scale, shift: numbers, or one for each entry of the last axis (a channel).
    rows: which of the N samples belong to this set, None for all; so several sets share one array of images.
    layout: "image" adds a channel axis where there is none and moves channels first, as torch's convolutions
    expect; "plain" passes samples unchanged. Integer codes (for embeddings) are never scaled.
    """

    images: AnyArray
    labels: NDArray[np.integer]
    scale: float | Sequence[float] | AnyArray = 1.0
    shift: float | Sequence[float] | AnyArray = 0.0
    rows: Rows | None = None
    layout: Layout = "image"
    flat: AnyArray = field(init=False, repr=False)
    """The images as a matrix (N, features)."""
    scale_row: float | NDArray[np.float32] = field(init=False, repr=False)
    shift_row: float | NDArray[np.float32] = field(init=False, repr=False)
    """`scale` and `shift` as numbers, or spread over the features."""
    classes: int = field(init=False, repr=False)
    """One more than the largest label of the arrays behind this set."""

    def __post_init__(self) -> None:
        images, labels = np.ascontiguousarray(self.images), np.asarray(self.labels)
        if images.dtype.kind == "f":
            images = np.asarray(images, dtype=np.float32)
        _check_arrays(images, labels)
        coded = images.dtype.kind != "f" and images.dtype != np.uint8
        if coded and self.layout == "image":
            raise bad_input(
                "images", "must be uint8 or float", ShownAsIs(str(images.dtype)), 'Codes need layout="plain".'
            )
        put = object.__setattr__
        put(self, "images", images)
        put(self, "labels", labels)
        put(self, "classes", int(labels.max()) + 1 if labels.size else 0)
        put(self, "flat", images.reshape(len(images), math.prod(images.shape[1:])))
        put(self, "scale_row", _row(self.scale, images, "scale"))
        put(self, "shift_row", _row(self.shift, images, "shift"))
        if np.any(np.equal(self.scale_row, 0.0)):
            raise bad_input(
                "scale", "must not be 0", self.scale, "Give the factor from stored to real values."
            )
        if self.rows is not None:
            put(self, "rows", _checked_rows(self.rows, len(images)))

    def __len__(self) -> int:
        return len(self.images) if self.rows is None else len(self.rows)

    @property
    def commonest_share(self) -> float:
        """Share of the samples that are of the commonest class: the accuracy of always naming it."""
        labels = self.labels if self.rows is None else self.labels[self.rows]
        return float(np.bincount(labels.astype(np.int64)).max() / len(labels)) if len(labels) else 0.0

    @property
    def sample(self) -> tuple[int, ...]:
        """Shape of one sample as it is stored."""
        return tuple(self.images.shape[1:])

    def select(self, positions: ArrayLike) -> Inputs:
        """The samples at `positions` of this set, sharing its arrays."""
        # The arrays were checked when this set was made: only the rows are new.
        chosen = object.__new__(Inputs)
        chosen.__dict__.update(self.__dict__, rows=self.absolute(_checked_rows(positions, len(self))))
        return chosen

    def absolute(self, positions: Rows) -> Rows:
        """Rows of the arrays that hold the samples at `positions` of this set."""
        return positions if self.rows is None else self.rows[positions]

    def compact(self) -> Inputs:
        """The same set with arrays that hold only its samples, e.g. to send it to another process."""
        if self.rows is None:
            return self
        return replace(self, images=self.images[self.rows], labels=self.labels[self.rows], rows=None)

    def batch(self, positions: Rows) -> tuple[AnyArray, IntArray]:
        """Converted samples (n, *sample) and labels (n,) at `positions` of this set."""
        rows = self.absolute(positions)
        labels = self.labels[rows].astype(np.int64)
        raw = self.flat[rows]
        shape = (len(rows), *self.sample)
        if self.images.dtype.kind != "f" and self.images.dtype != np.uint8:
            return raw.astype(np.int64).reshape(shape), labels
        values = raw.astype(np.float32, copy=False)
        if _differs(self.scale_row, 1.0):
            values *= self.scale_row
        if _differs(self.shift_row, 0.0):
            values += self.shift_row
        return values.reshape(shape), labels

    def finite(self) -> bool:
        """Whether every sample of this set is a finite number."""
        if self.images.dtype.kind != "f":
            return True
        every = np.arange(len(self))
        blocks = (self.flat[self.absolute(every[at : at + _BLOCK])] for at in range(0, len(self), _BLOCK))
        return all(bool(np.isfinite(block).all()) for block in blocks)


def pixels(images: AnyArray, labels: AnyArray) -> Inputs:
    """uint8 images with pixels in [0, 1]."""
    return Inputs(images, labels, scale=1.0 / MAX_BYTE)


def samples_of(samples: AnyArray, labels: AnyArray) -> Inputs:
    """Samples of any kind: uint8 images with pixels in [0, 1], other numbers as they are.

    Arrays (N, height, width) and (N, height, width, channels) are images; others, such as rows of a table, are not.
    """
    if samples.dtype == np.uint8 and samples.ndim in (3, 4):
        return pixels(samples, labels)
    image = samples.ndim in (3, 4) and samples.dtype.kind == "f"
    return Inputs(samples, labels, layout="image" if image else "plain")


def standardised(images: AnyArray, labels: AnyArray, mean: ArrayLike, std: ArrayLike) -> Inputs:
    """uint8 images as (pixel - mean) / std, `mean` and `std` a number or one per channel, on the scale [0, 1]."""
    centre, spread = np.asarray(mean, dtype=np.float64), np.asarray(std, dtype=np.float64)
    if not (np.isfinite(centre).all() and np.isfinite(spread).all() and (spread > 0).all()):
        raise bad_input(
            "std", "must be > 0, and mean finite", (mean, std), "Take them from the training images."
        )
    return Inputs(images, labels, scale=1.0 / (MAX_BYTE * spread), shift=-centre / spread)


def channel_statistics(images: NDArray[np.uint8]) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of each channel (the last axis) of uint8 images, on the scale [0, 1]."""
    channels = images.shape[-1]
    counts = np.zeros((channels, 256), dtype=np.int64)
    for at in range(0, len(images), _BLOCK):
        block = images[at : at + _BLOCK].reshape(-1, channels)
        for channel in range(channels):
            counts[channel] += np.bincount(block[:, channel], minlength=256)
    levels = np.arange(256) / MAX_BYTE
    weights = counts / counts.sum(axis=1, keepdims=True)
    mean = weights @ levels
    variance = (weights * (levels - mean[:, None]) ** 2).sum(axis=1)
    return mean, np.sqrt(variance)


def _check_arrays(images: AnyArray, labels: AnyArray) -> None:
    if images.ndim < 2 or images.dtype.kind not in "fiu":
        raise bad_input(
            "images",
            "must be numbers of shape (N, ...)",
            ShownAsIs(f"{images.dtype} of shape {images.shape}"),
            "Give one row per sample.",
        )
    if labels.shape != (len(images),) or labels.dtype.kind not in "iu":
        raise bad_input(
            "labels",
            f"must be integers of shape ({len(images)},)",
            ShownAsIs(f"{labels.dtype} of shape {labels.shape}"),
            "Give one class number from 0 for each sample.",
        )
    if labels.dtype.kind == "i" and labels.size and labels.min() < 0:
        raise bad_input("labels", "must be >= 0", int(labels.min()), "Number the classes from 0.")


def _checked_rows(rows: ArrayLike, size: int) -> Rows:
    checked = np.asarray(rows)
    if checked.size == 0:
        return np.empty(0, dtype=np.intp)
    if checked.ndim != 1 or checked.dtype.kind not in "iu":
        raise bad_input("rows", "must be a list of positions", rows, "Give integers.")
    checked = checked.astype(np.intp, copy=False)
    if checked.min() < 0 or checked.max() >= size:
        raise bad_input(
            "rows",
            f"must be within 0..{size - 1}",
            (int(checked.min()), int(checked.max())),
            "Check the indices.",
        )
    return checked


def _row(
    value: float | Sequence[float] | AnyArray, images: AnyArray, name: str
) -> float | NDArray[np.float32]:
    numbers = np.asarray(value, dtype=np.float32)
    if not np.isfinite(numbers).all():
        raise bad_input(name, "must be finite", value, "Check how it was computed.")
    if numbers.size == 1:
        return float(numbers.reshape(()))
    if numbers.shape != images.shape[-1:]:
        raise bad_input(
            name, f"must be a number or {images.shape[-1]} numbers", value, "Give one for each channel."
        )
    return np.tile(numbers, math.prod(images.shape[1:-1]))


def _differs(row: float | NDArray[np.float32], neutral: float) -> bool:
    return not isinstance(row, float) or row != neutral
