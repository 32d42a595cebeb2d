"""What a unit of effort costs: CPU seconds of every kind of work, for the weights of `planning.effort_costs`.

    python benchmarks/effort.py [--sizes 3,2,6 10,3,30 ...] [--qualities calibrated sharp printed] [--limit 20]
                                [--json FILE] [--fit FILE ...]

Solves made-up problems, each for at most `--limit` seconds, and notes the CPU time from each piece of work that a
solver announces to the next, then fits the weights: for every kind of work and quality what a call, a slot and an item
cost, none below zero, with the least sum of relative squares. `--fit` reads what several runs wrote with `--json`.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import defaultdict
from pathlib import Path
from typing import Any, ClassVar

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})

import numpy as np
from measures.synthetic import synthetic_problem
from scipy.optimize import nnls

from dmafl.planning.effort import Effort
from dmafl.planning.effort_costs import Work
from dmafl.planning.infeasible import Infeasible
from dmafl.planning.solve import solve

SIZES = ("3,2,6", "10,3,30", "10,3,100", "40,2,60", "100,3,300", "300,1,100")
QUALITIES = ("calibrated", "sharp", "printed")
Row = tuple[str, str, int, int, int, float]
"""Work, quality, calls, slots, items, CPU seconds until the next."""


class Recorded(Effort):
    """An effort that notes how long each piece of work took."""

    rows: ClassVar[list[Row]] = []
    last: ClassVar[tuple[str, str, int, int, int] | None] = None
    since: ClassVar[float] = 0.0

    def spend(self, work: Work, quality: str, slots: int, items: int = 0, calls: int = 1) -> None:
        """Note the one before."""
        Recorded.end()
        Recorded.last = (work.name, quality, calls, slots, items)
        super().spend(work, quality, slots, items, calls)

    @staticmethod
    def end() -> None:
        """Note the last one."""
        now = time.process_time()
        if Recorded.last is not None:
            Recorded.rows.append((*Recorded.last, now - Recorded.since))
        Recorded.last, Recorded.since = None, now


def recorded(size: tuple[int, int, int], quality: str, solver: str, limit_s: float) -> list[Row]:
    """All pieces of work of one plan."""
    problem = synthetic_problem(*size, 0, quality=quality)
    Recorded.rows, Recorded.last = [], None
    effort, begun = Recorded(1e9, limit_s), time.process_time()
    try:
        solve(problem, solver=solver, effort=effort)
    except Infeasible as trouble:
        print(f"{size} {quality} {solver}: {trouble}", flush=True)
    Recorded.end()
    whole = time.process_time() - begun
    print(
        f"{size} {quality:10} {solver}: {whole:.1f} CPU seconds, effort {effort.used:.1f}, "
        f"{whole / max(effort.used, 1e-9):.2f} s a unit, {len(Recorded.rows)} pieces",
        flush=True,
    )
    return Recorded.rows


def fitted(rows: list[Row]) -> None:
    """Print weights by work and quality; each size counts as often as it was met, by its relative error."""
    groups: dict[tuple[str, str], dict[tuple[int, int, int], list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for work, quality, calls, slots, items, seconds in rows:
        groups[work, quality][calls, slots, items].append(seconds)
    for (work, quality), sizes in sorted(groups.items()):
        A, count = np.asarray(list(sizes), dtype=float), np.asarray([len(times) for times in sizes.values()])
        b = np.asarray([np.mean(times) for times in sizes.values()])
        weight = np.sqrt(count) / b
        best, _ = nnls(A * weight[:, None], b * weight)
        print(
            f"{work:11} {quality:10} {count.sum():7} pieces {b @ count:8.2f} s, predicted {(A @ best) @ count:8.2f}: "
            + ", ".join(f"{value:.2g}" for value in best)
        )


def main() -> None:
    """Measure, or fit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", nargs="*", default=SIZES)
    parser.add_argument("--qualities", nargs="*", default=QUALITIES)
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--limit", type=float, default=20.0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--fit", type=Path, nargs="*", default=[])
    given = parser.parse_args()
    rows: list[Any] = []
    for path in given.fit:
        rows += json.loads(path.read_text())
    if not given.fit:
        for size in given.sizes:
            devices, tasks, slots = (int(part) for part in size.split(","))
            for quality in given.qualities:
                rows += recorded((devices, tasks, slots), quality, given.solver, given.limit)
        if given.json:
            given.json.write_text(json.dumps(rows))
    fitted(rows)


if __name__ == "__main__":
    main()
