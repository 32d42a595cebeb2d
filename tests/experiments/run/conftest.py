"""What the tests of runs share: a small scenario as files, and a finished run of it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import dmafl
from cli.conftest import command  # noqa: F401
from dmafl.schemes.registry import names_of
from support.small_runs import dataset, scenario, softmax


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


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: a run that saves after every event mostly waits for the disk."""
    if not Path("/dev/shm").is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        yield Path(name)


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return write_files(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> dmafl.Run:
    """Two tasks, all baselines, two seeds. Copy it before changing it."""
    small = scenario({"a": {}, "b": {"slots": 5, "cycles_per_sample": 3e6}}, devices=3)
    return dmafl.run(
        small,
        schemes=names_of("baseline"),
        seeds=(0, 7),
        output=tmp_path_factory.mktemp("finished") / "run",
        models=dict.fromkeys(small.tasks, softmax),
        datasets={name: dataset() for name in small.tasks},
    )
