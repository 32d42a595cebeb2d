from __future__ import annotations

import io
import pickle
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmafl.base.errors import BadInput
from dmafl.data import npz


def packed(arrays, save=np.savez_compressed, **options):
    buffer = io.BytesIO()
    save(buffer, **options, **arrays)
    return buffer.getvalue()


def refusal(content):
    with pytest.raises(BadInput) as caught:
        npz.arrays(io.BytesIO(content), "mine.npz")
    assert "mine.npz" in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_reads_what_numpy_writes(small, save):
    arrays = small(shape=(6, 5, 3))
    read = npz.arrays(io.BytesIO(packed(arrays, save)), "mine.npz")
    for name, array in arrays.items():
        np.testing.assert_array_equal(read[name], array)
        assert read[name].flags.c_contiguous


def test_reads_column_order(small):
    arrays = small(shape=(6, 5))
    content = packed({name: np.asfortranarray(array) for name, array in arrays.items()})
    np.testing.assert_array_equal(npz.arrays(io.BytesIO(content), "mine.npz")["x_train"], arrays["x_train"])


def test_headers_tell_type_and_shape(small):
    headers = npz.headers(io.BytesIO(packed(small(train=20))), "mine.npz")
    assert (headers["x_train"].dtype, headers["x_train"].shape) == (np.uint8, (20, 28, 28))


def test_what_we_write_is_read_by_numpy_and_has_the_same_bytes_each_time(small, tmp_path):
    arrays = small()
    for name in ("a.npz", "b.npz"):
        npz.write(tmp_path / name, arrays)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz", allow_pickle=False) as loaded:
        for name, array in arrays.items():
            np.testing.assert_array_equal(loaded[name], array)


def test_missing_arrays_are_named(small):
    arrays = small()
    del arrays["y_test"], arrays["x_train"]
    assert "no x_train, y_test" in refusal(packed(arrays))


@pytest.mark.parametrize(
    ("name", "array", "said"),
    [
        ("x_train", np.zeros((20, 28, 28)), "float64"),
        ("y_train", np.zeros(3, dtype=np.uint8), "one label for each"),
        ("x_test", np.zeros((0, 28, 28), dtype=np.uint8), "empty"),
    ],
)
def test_wrong_arrays(small, name, array, said):
    assert said in refusal(packed({**small(), name: array}))


class Trap:
    def __reduce__(self):
        return (pytest.fail, ("the file ran code",))


def test_object_arrays_are_refused_and_never_unpickled(small):
    arrays = {**small(), "x_train": np.array([Trap()], dtype=object)}
    assert "Python objects" in refusal(packed(arrays, allow_pickle=True))
    refusal(pickle.dumps(Trap()))


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04", bytes(100)])
def test_not_an_archive(content):
    assert "zip archive" in refusal(content)


def test_truncated_anywhere(small):
    content = packed(small())
    for length in range(0, len(content), len(content) // 23):
        refusal(content[:length])


def test_bytes_that_are_not_arrays():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in ("x_train", "y_train", "x_test", "y_test"):
            archive.writestr(f"{name}.npy", b"hello")
    assert "whole .npz" in refusal(buffer.getvalue())


@pytest.mark.parametrize("count", [10**15, 2])
def test_a_shape_that_lies_is_found_before_memory_is_asked_for(small, count):
    arrays = small(train=20)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            shape = (count, *array.shape[1:]) if "train" in name else array.shape
            np.lib.format.write_array_header_1_0(
                member, {"descr": "|u1", "fortran_order": False, "shape": shape}
            )
            archive.writestr(f"{name}.npy", member.getvalue() + array.tobytes())
    assert "as many bytes as its shape says" in refusal(buffer.getvalue())


def test_an_archive_that_unpacks_to_too_much(small, monkeypatch):
    monkeypatch.setattr(npz, "MAX_BYTES", 1000)
    assert "Keep fewer samples" in refusal(packed(small()))


CONTENT = packed(
    {
        "x_train": np.arange(48, dtype=np.uint8).reshape(3, 4, 4),
        "y_train": np.arange(3, dtype=np.uint8),
        "x_test": np.arange(32, dtype=np.uint8).reshape(2, 4, 4),
        "y_test": np.arange(2, dtype=np.uint8),
    }
)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(CONTENT) - 1), st.integers(0, 255))
def test_a_changed_byte_is_harmless_or_a_message(position, value):
    content = CONTENT[:position] + bytes([value]) + CONTENT[position + 1 :]
    try:
        read = npz.arrays(io.BytesIO(content), "mine.npz")
    except BadInput:
        return
    assert {array.dtype for array in read.values()} == {np.dtype(np.uint8)}
