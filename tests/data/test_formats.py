from __future__ import annotations

import gzip
import struct

import numpy as np
import pytest
from scipy.io import savemat

from dmafl.base.errors import BadInput
from dmafl.data import idx, mat


def idx_bytes(array):
    return bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


IMAGES = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)


def test_idx_is_read_back(tmp_path):
    np.testing.assert_array_equal(idx.parse(idx_bytes(IMAGES), "images", 3), IMAGES)
    (tmp_path / "images.gz").write_bytes(gzip.compress(idx_bytes(IMAGES)))
    np.testing.assert_array_equal(idx.read_gz(tmp_path / "images.gz", 3), IMAGES)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        idx_bytes(IMAGES)[:10],
        idx_bytes(IMAGES)[:-1],
        idx_bytes(IMAGES) + b"0",
        idx_bytes(IMAGES[0]),
        b"\x00\x00\x0d" + idx_bytes(IMAGES)[3:],
        b"\x01" + idx_bytes(IMAGES)[1:],
        b"\x00\x00\x08\x03" + b"\xff" * 12,
    ],
)
def test_idx_that_is_not_quite_right(content):
    with pytest.raises(BadInput, match="images"):
        idx.parse(content, "images", 3)


@pytest.mark.parametrize("cut", [0, 5, 20, -1])
def test_gzip_cut_short_or_wrong(tmp_path, cut):
    path = tmp_path / "images.gz"
    content = gzip.compress(idx_bytes(IMAGES))
    for broken in (content[:cut], b"<html>" + content, content[:12] + b"\xff\xff" + content[14:]):
        path.write_bytes(broken)
        with pytest.raises(BadInput, match=r"images\.gz"):
            idx.read_gz(path, 3)


def test_mat_is_transposed_and_ten_becomes_zero(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (32, 32, 3, 4), dtype=np.uint8)
    savemat(tmp_path / "digits.mat", {"X": images, "y": np.array([[1], [10], [9], [2]], dtype=np.uint8)})
    x, y = mat.read(tmp_path / "digits.mat")
    assert x.shape == (4, 32, 32, 3)
    np.testing.assert_array_equal(x[2, 5, 6], images[5, 6, :, 2])
    assert y.tolist() == [1, 0, 9, 2]
    assert y.dtype == np.uint8


@pytest.mark.parametrize(
    "content",
    [
        {"y": np.ones((4, 1), dtype=np.uint8)},
        {"X": np.zeros((32, 32, 3, 4)), "y": np.ones((4, 1), dtype=np.uint8)},
        {"X": np.zeros((28, 28, 3, 4), dtype=np.uint8), "y": np.ones((4, 1), dtype=np.uint8)},
        {"X": np.zeros((32, 32, 3, 4), dtype=np.uint8), "y": np.ones((3, 1), dtype=np.uint8)},
        {"X": np.zeros((32, 32, 3, 4), dtype=np.uint8), "y": np.zeros((4, 1), dtype=np.uint8)},
        {"X": np.zeros((32, 32, 3, 4), dtype=np.uint8), "y": np.full((4, 1), 11, dtype=np.uint8)},
    ],
)
def test_mat_that_is_not_quite_right(tmp_path, content):
    savemat(tmp_path / "digits.mat", content)
    with pytest.raises(BadInput, match=r"digits\.mat"):
        mat.read(tmp_path / "digits.mat")


def test_mat_cut_short(tmp_path):
    path = tmp_path / "digits.mat"
    labels = np.ones((4, 1), dtype=np.uint8)
    savemat(path, {"X": np.zeros((32, 32, 3, 4), dtype=np.uint8), "y": labels}, do_compression=True)
    content = path.read_bytes()
    for length in (0, 3, 100, 130, 150, len(content) - 20):
        path.write_bytes(content[:length])
        with pytest.raises(BadInput, match=r"digits\.mat"):
            mat.read(path)
    path.write_bytes(b"<html>" * 100)
    with pytest.raises(BadInput, match=r"digits\.mat"):
        mat.read(path)
