"""Data sets are read once while they are kept, again when their file is another one, and never kept unasked."""

from pathlib import Path

import numpy as np
import pytest

from dmafl.data.dataset import ARRAYS
from dmafl.data.kept import KEPT
from dmafl.data.lookup import embedded, find
from dmafl.data.npz import write


@pytest.fixture
def folder(tmp_path: Path):
    """A small MNIST; nothing is kept before and after."""
    KEPT.forget()
    put(tmp_path, 50)
    yield tmp_path
    KEPT.forget()


def put(folder: Path, samples: int) -> None:
    whole = embedded("mnist")
    write(folder / "mnist.npz", {array: getattr(whole, array)[:samples] for array in ARRAYS})


def test_nothing_is_kept_unasked(folder: Path) -> None:
    assert find("mnist", folder).x_train.base is not find("mnist", folder).x_train.base


def test_what_is_kept_is_the_same_and_cannot_be_written_to(folder: Path) -> None:
    read = find("mnist", folder)
    KEPT.keep()
    kept = find("mnist", folder)
    assert find("mnist", folder) is kept
    assert kept is not read
    assert kept.sha256 == read.sha256
    for array in ARRAYS:
        np.testing.assert_array_equal(getattr(kept, array), getattr(read, array))
        assert not getattr(kept, array).flags.writeable


def test_a_file_that_was_replaced_is_read_again(folder: Path) -> None:
    KEPT.keep()
    assert len(find("mnist", folder).x_train) == 50
    put(folder, 40)
    assert len(find("mnist", folder).x_train) == 40


def test_what_is_kept_is_let_go(folder: Path) -> None:
    KEPT.keep()
    kept = find("mnist", folder)
    KEPT.forget()
    assert find("mnist", folder) is not kept
