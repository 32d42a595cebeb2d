"""The log of a run on real devices: who came and went, which jobs failed, what was refused and why."""

from __future__ import annotations

import logging
from pathlib import Path


def log_of(output: Path) -> Path:
    """The log of the run in the folder `output`, beside it: in the folder are a run's outputs alone."""
    return output.with_name(f"{output.name}.log")


def write_log(path: Path) -> None:
    """Let this process write what the package logs to the end of `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    package = logging.getLogger("dmafl")
    package.addHandler(handler)
    package.setLevel(logging.INFO)
