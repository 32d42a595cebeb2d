"""A world so small that every command on it takes a fraction of a second, as files that commands are given."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

SCENARIO = """
name = "tiny"
[fleet]
devices = 3
[evaluation]
every = 2
samples = 20
[tasks.one]
dataset = "tiny"
slots = 6
samples = 30
partition = "iid"
steps_min = 1
steps_max = 3
max_staleness = 2
idle_max_s = 0.5
mix_decay = 0.0
[tasks.two]
dataset = "tiny"
slots = 4
samples = 30
partition = "iid"
steps_min = 1
steps_max = 3
max_staleness = 1
"""
EFFORT = "--effort"
"""The option of each command that says how much work a plan may cost."""
LITTLE = "0.05"
FEWEST_PROBES = "12"


def effort(command: str) -> list[str]:
    """Little work for a plan, as options of a command."""
    return [EFFORT, LITTLE]


@dataclass(frozen=True)
class Files:
    """What commands are given; all below one folder."""

    root: Path

    @property
    def scenario(self) -> Path:
        """The scenario."""
        return self.root / "scenario.toml"

    @property
    def data(self) -> Path:
        """The folder of its data set."""
        return self.root / "data"

    @property
    def measured(self) -> Path:
        """Its measured constants, with few probes."""
        return self.root / "measured.json"

    @property
    def plan(self) -> Path:
        """A plan of it."""
        return self.root / "plan.json"

    @property
    def cache(self) -> Path:
        """A cache with nothing in it, for commands that need none."""
        return self.root / "cache"


def write_files(root: Path) -> Files:
    """Scenario and data; constants and plan are made by the commands themselves, see `works`."""
    import numpy as np

    files = Files(root)
    files.data.mkdir(parents=True)
    files.cache.mkdir()
    rng = np.random.default_rng(0)
    arrays = {}
    for part, count in (("train", 100), ("test", 30)):
        labels = rng.permutation(np.arange(count) % 10).astype(np.uint8)
        images = rng.integers(0, 120, (count, 28, 28), dtype=np.uint8)
        images[np.arange(count), :, labels * 2] += 120
        arrays |= {f"x_{part}": images, f"y_{part}": labels}
    np.savez(files.data / "tiny.npz", **arrays)
    files.scenario.write_text(SCENARIO)
    os.environ["DMAFL_CACHE_DIR"] = str(files.cache)
    os.environ.pop("DMAFL_DATA_DIR", None)
    return files
