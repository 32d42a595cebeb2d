"""Units of work, each kept as a small file, so that a long benchmark can be stopped and goes on."""

from __future__ import annotations

import json
import multiprocessing
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

Row = dict[str, Any]
"""What became of a unit, as plain values."""


@dataclass(frozen=True)
class Unit:
    """One thing that is planned, trained or both."""

    part: str
    task: str
    partition: str
    seed: int
    setting: str = ""
    value: float | None = None
    """A number that the setting stands for, where it follows from other units."""

    @property
    def case(self) -> tuple[str, str, int]:
        """What is measured once."""
        return self.task, self.partition, self.seed

    def path(self, folder: Path) -> Path:
        """Where its outcome is kept."""
        name = f"{self.task}-{self.partition}-{self.seed}-{self.setting}.json"
        return folder / self.part / name


Work = Callable[[Unit], Row]


def carry_out(units: Sequence[Unit], work: Work, folder: Path, workers: int) -> list[Row]:
    """The outcomes of all units; those that are not kept yet are worked out, one process for a case."""
    missing = [unit for unit in units if not unit.path(folder).exists()]
    groups = [list(group) for _, group in groupby(missing, key=lambda unit: unit.case)]
    if missing:
        print(f"{missing[0].part}: {len(missing)} of {len(units)} to do", flush=True)
    if workers == 1:
        for group in groups:
            _work_out(group, work, folder)
    elif groups:
        with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
            for done in [pool.submit(_work_out, group, work, folder) for group in groups]:
                done.result()
    return kept(units, folder)


def kept(units: Iterable[Unit], folder: Path) -> list[Row]:
    """The outcomes that there are."""
    return [json.loads(unit.path(folder).read_text()) for unit in units if unit.path(folder).exists()]


def _work_out(group: Sequence[Unit], work: Work, folder: Path) -> None:
    for unit in group:
        begun = time.process_time()
        row = {
            "task": unit.task,
            "partition": unit.partition,
            "seed": unit.seed,
            "setting": unit.setting,
        } | work(unit)
        row["cpu_s"] = time.process_time() - begun
        path = unit.path(folder)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(json.dumps(row))
        part.replace(path)
