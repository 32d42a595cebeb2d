"""How good, how fast and how large: the planner on made-up problems, against brute force, `sca` and IPOPT.

    python benchmarks/planner.py [--only tiny sca sizes responses odd] [--seeds 5] [--quick] [--json FILE]

Sizes are (devices, tasks, slots a task); every line is made with `calibrated` + gram and with `sharp` + diagonal.
Problems come from seeds 1000 and up, which nothing was tuned on. `--quick` shows that everything works. docs/planner.md
has the outcome.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})

import numpy as np
from measures.odd import odd_scenarios
from measures.responses import responses

from dmafl.planning.found import Progress
from dmafl.planning.lower_bound import lower_bound
from dmafl.planning.problem import Problem
from dmafl.planning.repair import whole_and_repaired
from dmafl.planning.sca import sca
from dmafl.planning.solve import finished, solve
from dmafl.planning.synthetic import synthetic_problem
from dmafl.plans.plan import Plan

FIRST_SEED = 1000
KINDS = (("calibrated", "gram"), ("sharp", "diagonal"))
Row = dict[str, Any]


class Watch:
    """Notes when each objective was reached."""

    def __init__(self) -> None:
        self.seen: list[Progress] = []

    def __call__(self, progress: Progress) -> None:
        """Note it."""
        self.seen.append(progress)

    def reached(self, objective: float) -> float | None:
        """When a plan at least this good was known [s]."""
        times = [one.seconds for one in self.seen if one.violation == 0 and one.objective <= objective]
        return min(times, default=None)


def timed(problem: Problem, solver: str, limit_s: float) -> tuple[Plan, float, Watch]:
    """A plan, its CPU time, and what was seen on the way."""
    watch = Watch()
    begin = time.process_time()
    plan = solve(problem, solver=solver, time_limit_s=limit_s, watch=watch)
    return plan, time.process_time() - begin, watch


def tiny(seeds: int, quick: bool) -> list[Row]:
    """(3,1,4) against all schedules."""
    size = (2, 1, 3) if quick else (3, 1, 4)
    rows = []
    for quality, dissimilarity in KINDS:
        for seed in range(FIRST_SEED, FIRST_SEED + (2 if quick else 4 * seeds)):
            problem = synthetic_problem(*size, seed, quality=quality, dissimilarity=dissimilarity)
            best, slow_s, _ = timed(problem, "exhaustive", 600.0)
            found, fast_s, _ = timed(problem, "auto", 30.0)
            assert best.objective is not None and found.objective is not None
            rows.append(
                {
                    "quality": quality,
                    "seed": seed,
                    "exhaustive": best.objective,
                    "auto": found.objective,
                    "gap": found.objective / best.objective - 1.0,
                    "exhaustive_s": slow_s,
                    "auto_s": fast_s,
                }
            )
        own = [row["gap"] for row in rows if row["quality"] == quality]
        print(
            f"tiny {size} {quality:10} {len(own)} seeds: gap to brute force median {np.median(own):.3%}, "
            f"worst {max(own):.3%}",
            flush=True,
        )
    return rows


def against_sca(seeds: int, quick: bool) -> list[Row]:
    """(3,2,6) and (10,3,30): `auto` beside `sca`."""
    rows = []
    for size in [(3, 2, 6)] if quick else [(3, 2, 6), (10, 3, 30)]:
        for quality, dissimilarity in KINDS:
            for seed in range(FIRST_SEED, FIRST_SEED + (1 if quick else seeds)):
                problem = synthetic_problem(*size, seed, quality=quality, dissimilarity=dissimilarity)
                begin = time.process_time()
                relaxed = sca(problem, seed=0)
                sca_s = time.process_time() - begin
                slow = finished(problem, whole_and_repaired(problem, relaxed.choices), "sca")
                found, auto_s, watch = timed(problem, "auto", 30.0)
                assert slow.objective is not None and found.objective is not None
                reached = watch.reached(slow.objective)
                row = {
                    "size": size,
                    "quality": quality,
                    "seed": seed,
                    "sca": slow.objective,
                    "auto": found.objective,
                    "sca_s": sca_s,
                    "auto_s": auto_s,
                    "reached_s": reached,
                    "kkt": relaxed.kkt_residual,
                    "bound": lower_bound(problem),
                }
                rows.append(row)
                speed = f"{sca_s / reached:.1f}x sooner" if reached else "not reached"
                print(
                    f"sca {size} {quality:10} seed {seed}: sca {slow.objective:.5f} in {sca_s:.1f} s (KKT "
                    f"{relaxed.kkt_residual:.1e}), auto {found.objective:.5f} "
                    f"({found.objective / slow.objective - 1:+.2%}) in {auto_s:.1f} s, {speed}",
                    flush=True,
                )
    return rows


def sizes(seeds: int, quick: bool) -> list[Row]:
    """Time and memory as devices, tasks and slots grow; every plan is verified."""
    cases = [(10, 3, 100, 10.0), (100, 3, 300, 20.0), (1000, 3, 1000, 90.0)]
    rows = []
    for devices, tasks, slots, limit_s in [(10, 2, 10, 3.0)] if quick else cases:
        for quality, dissimilarity in KINDS:
            problem = synthetic_problem(
                devices, tasks, slots, FIRST_SEED, quality=quality, dissimilarity=dissimilarity
            )
            begin = time.monotonic()
            plan, cpu_s, _ = timed(problem, "auto", limit_s)
            wall_s = time.monotonic() - begin
            memory_MB = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            bound = lower_bound(problem)
            assert plan.executable and plan.objective is not None
            gap = f", gap <= {1 - bound / plan.objective:.0%}" if bound else ""
            rows.append(
                {
                    "size": (devices, tasks, slots),
                    "quality": quality,
                    "objective": plan.objective,
                    "cpu_s": cpu_s,
                    "wall_s": wall_s,
                    "memory_MB": memory_MB,
                    "bound": bound,
                }
            )
            print(
                f"size ({devices}, {tasks}, {slots}) {quality:10}: objective {plan.objective:.5f}{gap}, {wall_s:.1f} s "
                f"({cpu_s:.1f} s CPU), peak {memory_MB:,.0f} MB, executable",
                flush=True,
            )
    return rows


PARTS: dict[str, Callable[[int, bool], list[Row]]] = {
    "tiny": tiny,
    "sca": against_sca,
    "sizes": sizes,
    "responses": responses,
    "odd": odd_scenarios,
}


def main() -> None:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--quick", action="store_true", help="seconds, to see that it works; figures mean nothing"
    )
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    given = parser.parse_args()
    rows = {name: PARTS[name](given.seeds, given.quick) for name in given.only}
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
