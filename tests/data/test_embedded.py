from __future__ import annotations

import os
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from dmafl.data import find
from dmafl.data.lookup import embedded
from support.patience import carried_out

FOLDER = Path(str(files("dmafl.data") / "embedded"))
COMPLETE = Path(os.environ.get("DMAFL_DATA_DIR") or "no-such-folder")
TOOL = Path(__file__).parents[2] / "tools" / "make_embedded_data.py"

complete_needed = pytest.mark.skipif(
    not (COMPLETE / "mnist.npz").is_file() or not (COMPLETE / "fashion_mnist.npz").is_file(),
    reason="needs the complete data sets in DMAFL_DATA_DIR",
)


def test_stays_small_and_holds_nothing_else():
    assert sorted(path.name for path in FOLDER.iterdir()) == [
        "DATA_LICENSES.md",
        "fashion_mnist.npz",
        "mnist.npz",
    ]
    assert sum(path.stat().st_size for path in FOLDER.glob("*.npz")) <= 5_500_000
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) <= 6_000_000


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
def test_has_every_class_equally_often(name):
    dataset = embedded(name)
    assert dataset.shape == (28, 28)
    assert np.bincount(dataset.y_train).tolist() == [750] * 10
    assert np.bincount(dataset.y_test).tolist() == [150] * 10
    assert not dataset.stand_in


def test_names_authors_and_licences():
    text = (FOLDER / "DATA_LICENSES.md").read_text()
    for needed in (
        "LeCun",
        "Cortes",
        "CC BY-SA 3.0",
        "Copyright (c) 2017 Zalando SE",
        "WITHOUT WARRANTY",
        "unmodified",
    ):
        assert needed in text


@complete_needed
@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
def test_is_a_subset_of_the_real_data(name):
    whole, part = find(name, COMPLETE), embedded(name)
    for split in ("train", "test"):
        originals = {
            (image.tobytes(), int(label))
            for image, label in zip(getattr(whole, f"x_{split}"), getattr(whole, f"y_{split}"), strict=True)
        }
        sample = {
            (image.tobytes(), int(label))
            for image, label in zip(getattr(part, f"x_{split}"), getattr(part, f"y_{split}"), strict=True)
        }
        assert sample <= originals
        assert len(sample) > 0.99 * len(getattr(part, f"y_{split}"))


@complete_needed
def test_the_script_makes_the_same_arrays(tmp_path):
    carried_out(
        [sys.executable, str(TOOL), "--data-dir", str(COMPLETE), "--out", str(tmp_path)],
        check=True,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    for name in ("mnist", "fashion_mnist"):
        made, kept = find(name, tmp_path), embedded(name)
        np.testing.assert_array_equal(made.x_train, kept.x_train)
        np.testing.assert_array_equal(made.x_test, kept.x_test)
