from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dmafl.data.dataset import Bytes

Arrays = dict[str, Bytes]


@pytest.fixture(autouse=True)
def own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No test sees the user's data or cache; the folder returned is the cache."""
    monkeypatch.delenv("DMAFL_DATA_DIR", raising=False)
    monkeypatch.setenv("DMAFL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "data"


@pytest.fixture
def small() -> Callable[..., Arrays]:
    """Makes arrays of random images with every label in turn."""

    def make(train: int = 20, test: int = 10, shape: tuple[int, ...] = (28, 28), seed: int = 0) -> Arrays:
        rng = np.random.default_rng(seed)
        return {
            "x_train": rng.integers(0, 256, (train, *shape), dtype=np.uint8),
            "y_train": (np.arange(train) % 10).astype(np.uint8),
            "x_test": rng.integers(0, 256, (test, *shape), dtype=np.uint8),
            "y_test": (np.arange(test) % 10).astype(np.uint8),
        }

    return make


@pytest.fixture
def saved(small: Callable[..., Arrays]) -> Callable[..., Arrays]:
    """Saves such arrays as NAME.npz in a folder."""

    def save(folder: Path, name: str, **options: object) -> Arrays:
        folder.mkdir(parents=True, exist_ok=True)
        arrays = small(**options)
        np.savez_compressed(folder / f"{name}.npz", **arrays)  # type: ignore[arg-type]
        return arrays

    return save
