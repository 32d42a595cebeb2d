"""Earlier measurements by key: whole results, constants of a task, outcomes of single probes, warmed-up models."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from dmafl.base.errors import BadInput
from dmafl.base.files import read_checked, read_checked_bytes, say_once, write_checked, write_checked_bytes
from dmafl.base.files.npz import parse_npy
from dmafl.data.folders import cache_folder
from dmafl.learning.arrays import Vector

AGAIN = "It is not used: what it held is measured again."


def usual_folder() -> Path:
    """Where measurements are kept: `measured` beside the data sets of the user's cache."""
    return cache_folder().parent / "measured"


class Cache:
    """Files by key. A damaged file is reported and not used; without a folder nothing is stored."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def read(self, *path: str) -> Any:
        """The JSON content kept under `path`, or None."""
        if self._folder is None or not self._json(*path).exists():
            return None
        try:
            return read_checked(self._json(*path), "kept measurement", AGAIN)
        except BadInput as error:
            say_once(str(error))
            return None

    def write(self, content: Any, *path: str) -> None:
        """Keep JSON content under `path`."""
        if self._folder is not None:
            write_checked(self._json(*path), content)

    def read_model(self, *path: str) -> Vector | None:
        """The model kept under `path`, or None."""
        if self._folder is None or not self._model(*path).exists():
            return None
        file = self._model(*path)
        try:
            model = parse_npy(read_checked_bytes(file, "kept model", AGAIN), str(file))
        except BadInput as error:
            say_once(str(error))
            return None
        return model if model.dtype == np.float32 and model.ndim == 1 else None

    def write_model(self, model: Vector, *path: str) -> None:
        """Keep a model under `path`."""
        if self._folder is not None:
            content = io.BytesIO()
            np.save(content, model, allow_pickle=False)
            write_checked_bytes(self._model(*path), content.getvalue())

    def _json(self, *path: str) -> Path:
        assert self._folder is not None
        return self._folder.joinpath(*path).with_suffix(".json")

    def _model(self, *path: str) -> Path:
        assert self._folder is not None
        return self._folder.joinpath(*path).with_suffix(".model")
