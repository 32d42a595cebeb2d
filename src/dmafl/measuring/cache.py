"""What was measured before, by key: whole results, constants of a task, outcomes of single probes, warm starts."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from dmafl.data.folders import cache_folder
from dmafl.files import write_bytes, write_json
from dmafl.learning.arrays import Vector


def usual_folder() -> Path:
    """Where measurements are kept: `measured` beside the data sets of the user's cache."""
    return cache_folder().parent / "measured"


class Cache:
    """Files by key. What cannot be read counts as not there; without a folder nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def read(self, *path: str) -> Any:
        """The JSON content kept under `path`, or None."""
        try:
            return None if self._folder is None else json.loads(self._json(*path).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def write(self, content: Any, *path: str) -> None:
        """Keep JSON content under `path`."""
        if self._folder is not None:
            write_json(self._json(*path), content)

    def read_model(self, *path: str) -> Vector | None:
        """The model kept under `path`, or None."""
        try:
            if self._folder is None:
                return None
            with self._npy(*path).open("rb") as file:
                found = np.load(file, allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None
        return found if found.dtype == np.float32 and found.ndim == 1 else None

    def write_model(self, model: Vector, *path: str) -> None:
        """Keep a model under `path`."""
        if self._folder is not None:
            content = io.BytesIO()
            np.save(content, model, allow_pickle=False)
            write_bytes(self._npy(*path), content.getvalue())

    def _json(self, *path: str) -> Path:
        assert self._folder is not None
        return self._folder.joinpath(*path).with_suffix(".json")

    def _npy(self, *path: str) -> Path:
        assert self._folder is not None
        return self._folder.joinpath(*path).with_suffix(".npy")
