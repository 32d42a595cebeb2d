"""Starts pieces of work that each have workers of their own, says so, and waits to be killed."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from dmafl.experiments.executors.local import Local
from dmafl.training.workers import ignore_signals, process_pool


def sleep(path: Path) -> None:
    path.touch()
    time.sleep(3600)


def piece(folder: Path) -> None:
    with process_pool(2, ignore_signals) as pool:
        waiting = [pool.submit(sleep, folder / f"{folder.name}-{number}") for number in range(2)]
        waiting[0].result()


if __name__ == "__main__":
    folders = [Path(sys.argv[1]) / name for name in ("a", "b")]
    for folder in folders:
        folder.mkdir()
    Local().side_by_side(piece, folders, 2, lambda order, problem: None, lambda order: None, Path())
