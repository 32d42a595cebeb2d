from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from dmafl.base.errors import BadInput
from dmafl.data import Dataset
from dmafl.data.dataset import content_sha256


def make(arrays, **changes):
    return Dataset(name="mine", **{**arrays, **changes}, source="memory", sha256="0")


def test_shape_classes_and_first_samples(small):
    dataset = make(small(train=20, test=10, shape=(8, 8, 3)))
    assert (dataset.shape, dataset.classes, dataset.stand_in) == ((8, 8, 3), 10, False)
    part = dataset.first(5, 100)
    assert (len(part.x_train), len(part.y_train), len(part.x_test), len(part.y_test)) == (5, 5, 10, 10)
    assert part.classes == 10


def test_is_frozen_and_leaves_the_callers_arrays_writeable(small):
    arrays = small()
    dataset = make(arrays)
    with pytest.raises(dataclasses.FrozenInstanceError):
        dataset.name = "other"
    with pytest.raises(ValueError, match="read-only"):
        dataset.x_train[0] = 0
    arrays["x_train"][0] = 0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"x_train": np.zeros((20, 28, 28))}, "float64"),
        ({"y_train": np.zeros(20, dtype=np.int64)}, "astype"),
        ({"y_test": np.zeros(9, dtype=np.uint8)}, "one label for each of the 10 images"),
        ({"x_test": np.zeros((10, 32, 32), dtype=np.uint8)}, "training shape"),
        ({"x_train": np.zeros((0, 28, 28), dtype=np.uint8)}, "empty"),
        ({"x_train": np.zeros((20, 784), dtype=np.uint8)}, "height"),
        ({"y_train": np.zeros((20, 10), dtype=np.uint8)}, "(samples,)"),
        ({"x_train": np.full((20, 28, 28), None)}, "objects"),
    ],
)
def test_refuses_what_is_not_images_with_labels(small, changes, said):
    with pytest.raises(BadInput) as caught:
        make(small(), **changes)
    assert said in str(caught.value)
    assert next(iter(changes)) in str(caught.value)


def test_names_every_fault_at_once(small):
    with pytest.raises(BadInput) as caught:
        make(small(), x_train=np.zeros((20, 28, 28)), y_test=np.zeros(10))
    assert len(caught.value.problems) == 2


def test_content_checksum_sees_samples_shapes_and_order(small):
    arrays = small()
    same = {name: np.asfortranarray(array) for name, array in arrays.items()}
    assert content_sha256(arrays) == content_sha256(same)
    for name, array in arrays.items():
        assert content_sha256(arrays) != content_sha256({**arrays, name: array[::-1]})
    reshaped = {**arrays, "x_train": arrays["x_train"].reshape(20, 14, 56)}
    assert content_sha256(arrays) != content_sha256(reshaped)
