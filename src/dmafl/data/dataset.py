"""A data set as a value: images and labels, already split into training and test."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dmafl.base.errors import BadInput, Problem, show
from dmafl.base.showing import line

Bytes = NDArray[np.uint8]
AnyArray = NDArray[Any]

ARRAYS = ("x_train", "y_train", "x_test", "y_test")


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Images and labels of one learning task; the arrays are read-only. Compare two by `sha256`."""

    name: str
    x_train: AnyArray
    """Images, (samples, height, width) or (samples, height, width, channels); or other numbers, (samples, ...)."""
    y_train: Bytes
    """Labels from 0 on, at most 256 classes, (samples,)."""
    x_test: AnyArray
    y_test: Bytes
    source: str
    """Path of the file, or where else the samples come from."""
    sha256: str
    """Checksum of the file read; of the arrays where there is no file."""
    stand_in: bool = False
    """True if this data set takes the place of another one."""

    def __post_init__(self) -> None:
        check_samples({array: getattr(self, array) for array in ARRAYS}, self.source)
        for array in ARRAYS:
            view = getattr(self, array).view()
            view.flags.writeable = False
            object.__setattr__(self, array, view)

    @classmethod
    def of(
        cls, x_train: ArrayLike, y_train: ArrayLike, x_test: ArrayLike, y_test: ArrayLike, name: str = "own"
    ) -> Dataset:
        """A data set of arrays: images or rows of a table, uint8 or other numbers, and labels from 0 to 255."""
        arrays: dict[str, Any] = {
            "x_train": _samples(x_train),
            "y_train": _labels(y_train, f"{name}: y_train"),
        }
        arrays |= {"x_test": _samples(x_test), "y_test": _labels(y_test, f"{name}: y_test")}
        check_samples(arrays, name)
        return cls(name, **arrays, source="arrays", sha256=content_sha256(arrays))

    def __repr__(self) -> str:
        rows = f"{len(self.y_train)} samples to train and {len(self.y_test)} to test"
        return line("Dataset", self.name, f"{rows} of shape {self.shape}", f"{self.classes} classes")

    @property
    def classes(self) -> int:
        """Number of classes: the largest label plus one."""
        return max(int(self.y_train.max()), int(self.y_test.max())) + 1

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one image."""
        return self.x_train.shape[1:]

    def first(self, train: int, test: int) -> Dataset:
        """The same data set with at most the first `train` and `test` samples."""
        return replace(
            self,
            x_train=self.x_train[:train],
            y_train=self.y_train[:train],
            x_test=self.x_test[:test],
            y_test=self.y_test[:test],
        )


def _samples(given: ArrayLike) -> AnyArray:
    samples = np.asarray(given)
    return samples if samples.dtype == np.uint8 else np.asarray(samples, dtype=np.float32)


def _labels(given: ArrayLike, name: str) -> Bytes:
    labels = np.asarray(given)
    whole = labels.dtype.kind in "iu" and labels.size > 0 and labels.min() >= 0 and labels.max() <= 255
    if not whole:
        raise BadInput(
            Problem(name, "must be whole numbers from 0 to 255", show(given), "Number the classes from 0.")
        )
    return labels.astype(np.uint8)


def check_samples(arrays: Mapping[str, AnyArray], where: str) -> None:
    """Refuse arrays that are not samples with labels; samples may be float32 numbers of any shape."""
    kinds = {name: array.dtype for name, array in arrays.items()}
    if any(kinds[name] == np.float32 for name in ("x_train", "x_test")):
        problems = _mismatches({name: array.shape for name, array in arrays.items()}, where)
        for name in ("x_train", "x_test"):
            if kinds[name] != np.float32 or arrays[name].ndim < 2 or not np.isfinite(arrays[name]).all():
                rule = "must be finite numbers of the shape (samples, ...)"
                value = f"{kinds[name]} of shape {arrays[name].shape}"
                problems.append(Problem(f"{where}: {name}", rule, value, "Clean the columns first."))
        if problems:
            raise BadInput(*problems)
    elif arrays["x_train"].ndim == arrays["x_test"].ndim == 2:
        problems = _mismatches({name: array.shape for name, array in arrays.items()}, where)
        if problems:
            raise BadInput(*problems)
    else:
        check_arrays(arrays, where)


def check_arrays(arrays: Mapping[str, AnyArray], where: str) -> None:
    """Refuse arrays that are not images with labels; `where` names their origin in the message."""
    check_layout({array: (arrays[array].dtype, arrays[array].shape) for array in ARRAYS}, where)


def check_layout(layout: Mapping[str, tuple[np.dtype[np.generic], tuple[int, ...]]], where: str) -> None:
    """Refuse types and shapes that are not those of images with labels; reports all errors at once."""
    problems = []
    for array, (dtype, shape) in layout.items():
        name = f"{where}: {array}"
        if dtype.hasobject:
            remedy = "Objects can run code when read: save plain numbers."
            problems.append(Problem(name, "must be of type uint8", "Python objects", remedy))
        elif dtype != np.uint8:
            remedy = "Save it with `.astype(numpy.uint8)`; images are 0..255."
            problems.append(Problem(name, "must be of type uint8", str(dtype), remedy))
        dimensions = (3, 4) if array.startswith("x") else (1,)
        if len(shape) not in dimensions:
            wanted = "(samples, height, width[, channels])" if array.startswith("x") else "(samples,)"
            problems.append(Problem(name, f"must have the shape {wanted}", show(shape), "Reshape it."))
        elif 0 in shape:
            problems.append(Problem(name, "must not be empty", f"shape {shape}", "Give at least one sample."))
    problems.extend(
        [] if problems else _mismatches({array: shape for array, (_, shape) in layout.items()}, where)
    )
    if problems:
        raise BadInput(*problems)


def _mismatches(shapes: Mapping[str, tuple[int, ...]], where: str) -> list[Problem]:
    problems = []
    for split in ("train", "test"):
        images, labels = shapes[f"x_{split}"][0], shapes[f"y_{split}"][0]
        if images != labels:
            rule = f"must have one label for each of the {images:,} images"
            remedy = "Save both arrays from the same samples."
            problems.append(Problem(f"{where}: y_{split}", rule, f"{labels:,} labels", remedy))
    if shapes["x_train"][1:] != shapes["x_test"][1:]:
        rule = f"must have images of the training shape {shapes['x_train'][1:]}"
        problems.append(Problem(f"{where}: x_test", rule, show(shapes["x_test"][1:]), "Resize the images."))
    return problems


def content_sha256(arrays: Mapping[str, AnyArray]) -> str:
    """SHA-256 of all four arrays, shapes included: the same for the same samples in any file format."""
    digest = hashlib.sha256()
    for array in ARRAYS:
        kind = "" if arrays[array].dtype == np.uint8 else str(arrays[array].dtype)
        digest.update(f"{array}{arrays[array].shape}{kind}".encode())
        digest.update(np.ascontiguousarray(arrays[array]).data)
    return digest.hexdigest()
