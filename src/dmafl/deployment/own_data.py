"""A device's own data: from a folder with one file a task, or from a function that its owner names."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.files import read_bytes
from dmafl.base.files.limits import MAX_FILE_BYTES
from dmafl.base.files.npz import read_arrays
from dmafl.learning.inputs import Inputs, samples_of, standardised

Config = Mapping[str, Any]
"""What a device's owner has set, e.g. with `--node-config`."""
DATA, MODELS = "data", "models"
_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_TASK = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


@dataclass(frozen=True, eq=False)
class OwnSamples:
    """Samples of one task and their labels, as they are stored: uint8 images, or numbers."""

    x: NDArray[Any]
    y: NDArray[np.integer]

    def inputs(self, mean: tuple[float, ...], std: tuple[float, ...]) -> Inputs:
        """As a network sees them; standardised where the server says with what."""
        return standardised(self.x, self.y, mean, std) if mean else samples_of(self.x, self.y)

    def labels(self, classes: int) -> list[int]:
        """How many samples there are of each label."""
        return [int(count) for count in np.bincount(self.y.astype(np.int64), minlength=classes)]


def own_samples(task: str, config: Config) -> OwnSamples:
    """The device's samples of `task`: `data` in its settings is a folder with TASK.npz, or `module:function`.

    The file has the arrays `x` and `y`. The function is called with the task's name and the settings, and gives both.
    """
    where = config.get(DATA)
    if not isinstance(where, str) or not where:
        raise bad_input(
            DATA,
            "must be a folder or module:function",
            where,
            "Start the device with --node-config 'data=\"/path/to/folder\"'.",
        )
    if not _TASK.fullmatch(task):
        raise bad_input("task", "must be a plain name", task, "Rename the task.")
    x, y = (
        function_named(where, DATA)(task, dict(config)) if _FUNCTION.fullmatch(where) else _read(where, task)
    )
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype != np.uint8:
        x = np.asarray(x, dtype=np.float32)
    if x.ndim < 2 or y.shape != (len(x),) or y.dtype.kind not in "iu" or not len(y) or int(y.min()) < 0:
        raise bad_input(
            f"{DATA} of task {task}",
            "must be samples (n, ...) with n labels from 0",
            ShownAsIs(f"{x.dtype} of shape {x.shape}, {y.dtype} of shape {y.shape}"),
            "Give x and y as the server's data set has them.",
        )
    if x.dtype.kind == "f" and not np.isfinite(x).all():
        raise bad_input(f"{DATA} of task {task}", "must be finite", ShownAsIs("others"), "Clean them first.")
    return OwnSamples(x, y)


def function_named(name: str, setting: str) -> Any:
    """What `module:function` names."""
    module, _, function = name.partition(":")
    try:
        found = getattr(import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise bad_input(
            setting, "must be a function that can be imported", name, f"Python says: {error}."
        ) from None
    if not callable(found):
        raise bad_input(setting, "must be a function", name, "Name one.")
    return found


def _read(folder: str, task: str) -> tuple[Any, Any]:
    path = Path(folder) / f"{task}.npz"
    if not path.is_file():
        raise bad_input(
            str(path), "must be there for the task", ShownAsIs("no file"), "Save x and y with np.savez."
        )
    content = io.BytesIO(read_bytes(path, DATA, MAX_FILE_BYTES))
    arrays = read_arrays(content, str(path), ("x", "y"))
    if not {"x", "y"} <= set(arrays):
        raise bad_input(
            str(path), "must have x and y", sorted(arrays), "Save it with np.savez(path, x=x, y=y)."
        )
    return arrays["x"], arrays["y"]
