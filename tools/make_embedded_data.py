"""Make the samples that come with the package, from complete data sets; the same input gives the same bytes.

    python tools/make_embedded_data.py --data-dir FOLDER_WITH_NPZ_FILES

Each sample takes the same number of images of every class, evenly spaced over the complete set and left in its
order, so that early and late parts of the set are represented alike. Pixels are not changed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from dmafl.base.files import replacing
from dmafl.data import npz
from dmafl.data.dataset import Bytes

NAMES = ("mnist", "fashion_mnist")
TRAIN_PER_CLASS = 750
TEST_PER_CLASS = 150
FOLDER = Path(__file__).resolve().parents[1] / "src" / "dmafl" / "data" / "embedded"


def main() -> None:
    """Write one .npz file for each name and say how large it is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data-dir", type=Path, required=True, help="folder with the complete NAME.npz files"
    )
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder to write to")
    arguments = parser.parse_args()
    for name in NAMES:
        source = arguments.data_dir / f"{name}.npz"
        with source.open("rb") as file:
            sample = sampled(npz.arrays(file, str(source)))
        path = arguments.out / f"{name}.npz"
        with replacing(path) as part:
            npz.write(part, sample)
        sys.stdout.write(f"{path}: {path.stat().st_size:,} bytes\n")


def sampled(arrays: dict[str, Bytes]) -> dict[str, Bytes]:
    """A class-balanced subset of both splits."""
    train = chosen(arrays["y_train"], TRAIN_PER_CLASS)
    test = chosen(arrays["y_test"], TEST_PER_CLASS)
    return {
        "x_train": arrays["x_train"][train],
        "y_train": arrays["y_train"][train],
        "x_test": arrays["x_test"][test],
        "y_test": arrays["y_test"][test],
    }


def chosen(labels: Bytes, per_class: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Indices of `per_class` samples of each class, evenly spaced, in ascending order."""
    picks = []
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        picks.append(members[np.arange(per_class) * len(members) // per_class])
    return np.sort(np.concatenate(picks))


if __name__ == "__main__":
    main()
