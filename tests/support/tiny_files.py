"""A small scenario of two tasks as files, with data that are made up, for commands that read them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from support.small_runs import dataset


@dataclass(frozen=True)
class Files:
    """A scenario file and the folder of its data."""

    scenario: Path
    data: Path


SCENARIO = """
name = "tiny"
[fleet]
devices = 3
[evaluation]
every = 2
samples = 20
[tasks.one]
dataset = "tiny"
slots = 5
samples = 30
partition = "iid"
steps_min = 1
steps_max = 3
max_staleness = 2
idle_max_s = 0.5
mix_decay = 0.0
[tasks.two]
dataset = "tiny"
slots = 3
samples = 30
partition = "iid"
steps_min = 1
steps_max = 3
max_staleness = 1
"""


def write_files(folder: Path, seed: int = 0) -> Files:
    """A scenario of two tasks on 28x28 images that are made up."""
    folder.mkdir(parents=True, exist_ok=True)
    data = dataset(100, 30, side=28, classes=10, seed=seed)
    arrays = {name: getattr(data, name) for name in ("x_train", "y_train", "x_test", "y_test")}
    np.savez(folder / "tiny.npz", **arrays)
    (folder / "scenario.toml").write_text(SCENARIO)
    return Files(folder / "scenario.toml", folder)
