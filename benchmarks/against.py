"""What this tree costs beside an older commit: simulator, planner and a run of `demo`, in turns, CPU seconds.

    python benchmarks/against.py REV [--only clock,updates,cnn,demo,sizes] [--turns 10] [--quick] [--json FILE]

`sizes` is that of the planner's benchmark; it takes minutes in every turn and is measured only where it is named.

Every turn measures the old commit, this tree, and the old commit once more, each in processes of its own with the same
Python and packages; the order changes from turn to turn. The second measurement of the old commit shows how far two
equal things differ here: a ratio means something only where it lies outside of that.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CLONE = Path(__file__).resolve().parents[1]
PARTS = ("clock", "updates", "cnn", "demo")
PLANNER_PARTS = ("sizes",)
DEMO_SCHEMES = ("fedasync", "fedavg-partial")
"""With all baselines a turn takes minutes, most of them in training."""
OLD, NEW, AGAIN = "old", "new", "old again"
LIMIT_S = 3600.0
Figures = dict[str, float]
"""Name of a row -> CPU milliseconds per period, update or step, or of a whole run."""


def main() -> None:
    """Measure in turns, then print medians and ratios."""
    given = _given()
    measured_of: dict[str, list[Figures]] = {OLD: [], NEW: [], AGAIN: []}
    with _checked_out(given.revision) as old:
        trees = {OLD: old, NEW: CLONE, AGAIN: old}
        for turn in range(given.turns):
            for name in sorted(
                trees, key=lambda tree, turn=turn: (list(trees).index(tree) + turn) % len(trees)
            ):
                measured_of[name].append(
                    {
                        row: spent
                        for part in given.only
                        for row, spent in measured(trees[name], part, given.quick).items()
                    }
                )
            print(f"turn {turn + 1} of {given.turns} is done", file=sys.stderr, flush=True)
            if given.json:
                given.json.write_text(json.dumps(measured_of, indent=1))
    show(measured_of)


def measured(tree: Path, part: str, quick: bool) -> Figures:
    """CPU time of one part with the package of `tree`."""
    with tempfile.TemporaryDirectory() as folder:
        if part == "demo":
            return {f"demo, {' and '.join(DEMO_SCHEMES)}": _demo(tree, Path(folder), quick) * 1000}
        figures = Path(folder) / "figures.json"
        script = "benchmarks/planner.py" if part in PLANNER_PARTS else "benchmarks/simulator.py"
        arguments = [script, "--only", part, "--json", str(figures)]
        _run(tree, tree, *arguments, *(["--quick"] if quick else []))
        rows: list[dict[str, Any]] = json.loads(figures.read_text())[part]
    if part in PLANNER_PARTS:
        return {f"{part}, {row['size']} {row['quality']}": row["cpu_s"] * 1000 for row in rows}
    return {f"{part}, {_name(row)}": row["cpu_seconds"] / _count(row) * 1000 for row in rows}


def show(measured_of: dict[str, list[Figures]]) -> None:
    """Print the median of each row, and the medians of the ratios of a turn."""
    title = f"CPU ms each, median of {len(measured_of[OLD])}"
    print(f"{title:50} {'old':>10} {'new':>10} {'new/old':>8} {'old/old (range)':>20}")
    for row in measured_of[OLD][0]:
        old, new, again = ([figures[row] for figures in measured_of[name]] for name in (OLD, NEW, AGAIN))
        before, now = statistics.median([*old, *again]), statistics.median(new)
        same = [second / first for first, second in zip(old, again, strict=True)]
        spread = f"{statistics.median(same):.3f} ({min(same):.2f}-{max(same):.2f})"
        print(f"{row:50} {before:>10.4g} {now:>10.4g} {now / before:>8.3f} {spread:>20}")


def _name(row: dict[str, Any]) -> str:
    """What tells a row from the others."""
    settings = ("channel", "in_flight", "devices", "name", "batch", "workers")
    return " ".join(f"{row[key]} {key}" for key in settings if key in row)


def _count(row: dict[str, Any]) -> int:
    """How many of what it measures a row has."""
    return next(int(row[key]) for key in ("periods", "updates", "steps") if key in row)


def _demo(tree: Path, folder: Path, quick: bool) -> float:
    scenario = folder / "scenario.toml"
    _run(tree, folder, "-m", "dmafl", "init", "--preset", "demo", "--output", str(scenario))
    schemes = [word for scheme in DEMO_SCHEMES[: 1 if quick else None] for word in ("--scheme", scheme)]
    return _run(tree, folder, "-m", "dmafl", "run", str(scenario), *schemes, "--workers", "1", "-o", "run")


def _run(tree: Path, folder: Path, *arguments: str) -> float:
    """Run Python with the package of `tree`; the CPU time of it and its children."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "DMAFL_CACHE_DIR": str(folder / "cache")}
    environment.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
    before = _children_s()
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr[-2000:]}")
    return _children_s() - before


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def _checked_out(revision: str) -> Iterator[Path]:
    """The tree of a commit, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "old"
        subprocess.run(
            ["git", "worktree", "add", "--detach", str(tree), revision],
            cwd=CLONE,
            check=True,
            capture_output=True,
        )
        try:
            yield tree
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=CLONE, check=True)


def _given() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("revision", help="the older commit")
    parser.add_argument(
        "--only", type=lambda text: tuple(text.split(",")), default=PARTS, help="parts, e.g. clock,demo"
    )
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="to see that it works: its figures mean nothing")
    parser.add_argument("--json", type=Path, help="write all figures to this file, after every turn")
    given = parser.parse_args()
    if odd := [part for part in given.only if part not in (*PARTS, *PLANNER_PARTS)]:
        parser.error(f"{odd[0]!r} is none of {', '.join((*PARTS, *PLANNER_PARTS))}")
    return given


if __name__ == "__main__":
    main()
