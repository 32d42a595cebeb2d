"""How good, how fast and how large: the planner on made-up problems, against brute force and `sca`.

    python benchmarks/planner.py [--only tiny sca sizes growth cutoffs responses odd] [--quality calibrated sharp]
                                 [--seeds 5] [--quick] [--json FILE]

Sizes are (devices, tasks, slots a task); every line is made with `calibrated` + gram and with `sharp` + diagonal.
Problems come from seeds 1000 and up, which nothing was tuned on. Times are CPU seconds if not said otherwise.
`--quick` shows that everything works. docs/planner-inside.md has the outcome.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})

import numpy as np
from measures.odd import odd_scenarios
from measures.responses import KINDS, Kinds, responses
from measures.synthetic import synthetic_estimates, synthetic_problem, synthetic_world

from dmafl.planning.effort import Effort, Progress
from dmafl.planning.infeasible import Infeasible
from dmafl.planning.lower_bound import lower_bound
from dmafl.planning.problem import Problem
from dmafl.planning.sca.algorithm import sca
from dmafl.planning.search.repair import whole_and_repaired
from dmafl.planning.solve import finished, problem_in_time, solve
from dmafl.schedule.plan import Plan

FIRST_SEED = 1000
AUTO_EFFORT = 60.0
"""Effort that `auto` may use; it ends by itself long before."""
LEAST_EFFORT = 1e-9
"""With it `auto` makes its first plan and stops."""
PRODUCT_JOBS = 12
"""Jobs up to which Algorithm 1 in the paper's variables takes seconds; beyond, it is run for the first seed alone."""
Row = dict[str, Any]


class Watch:
    """Notes when each objective was reached."""

    def __init__(self) -> None:
        self.begin = time.process_time()
        self.seen: list[tuple[float, Progress]] = []

    def __call__(self, progress: Progress) -> None:
        """Note it."""
        self.seen.append((time.process_time() - self.begin, progress))

    def reached(self, objective: float) -> float | None:
        """CPU seconds until a plan at least this good was known."""
        times = [
            when
            for when, incumbent in self.seen
            if incumbent.violation == 0 and incumbent.objective <= objective
        ]
        return min(times, default=None)


def timed(problem: Problem, solver: str, effort: float) -> tuple[Plan, float, Watch]:
    """A plan, its CPU time, and what was seen on the way."""
    watch = Watch()
    plan = solve(problem, solver=solver, effort=Effort(effort, watch=watch))
    return plan, time.process_time() - watch.begin, watch


def tiny(seeds: int, quick: bool, kinds: Kinds) -> list[Row]:
    """(3,1,4) against all schedules."""
    size = (2, 1, 3) if quick else (3, 1, 4)
    rows = []
    for quality, dissimilarity in kinds:
        for seed in range(FIRST_SEED, FIRST_SEED + (2 if quick else 4 * seeds)):
            problem = synthetic_problem(*size, seed, quality=quality, dissimilarity=dissimilarity)
            best, slow_s, _ = timed(problem, "exhaustive", 600.0)
            plan, fast_s, _ = timed(problem, "auto", AUTO_EFFORT)
            assert best.objective is not None and plan.objective is not None
            rows.append(
                {
                    "quality": quality,
                    "seed": seed,
                    "exhaustive": best.objective,
                    "auto": plan.objective,
                    "gap": plan.objective / best.objective - 1.0,
                    "exhaustive_s": slow_s,
                    "auto_s": fast_s,
                }
            )
        gaps = [row["gap"] for row in rows if row["quality"] == quality]
        print(
            f"tiny {size} {quality:10} {len(gaps)} seeds: gap to brute force median {np.median(gaps):.3%}, "
            f"worst {max(gaps):.3%}",
            flush=True,
        )
    return rows


def against_sca(seeds: int, quick: bool, kinds: Kinds) -> list[Row]:
    """(3,2,6) and (10,3,30): `auto` beside `sca`, and beside Algorithm 1 in the paper's variables."""
    rows = []
    for size in [(3, 2, 6)] if quick else [(3, 2, 6), (10, 3, 30)]:
        for quality, dissimilarity in kinds:
            for seed in range(FIRST_SEED, FIRST_SEED + (1 if quick else seeds)):
                problem = synthetic_problem(*size, seed, quality=quality, dissimilarity=dissimilarity)
                begin = time.process_time()
                relaxed = sca(problem, seed=0)
                sca_s = time.process_time() - begin
                slow = finished(problem, whole_and_repaired(problem, relaxed.decisions), "sca")
                plan, auto_s, watch = timed(problem, "auto", AUTO_EFFORT)
                assert slow.objective is not None and plan.objective is not None
                reached = watch.reached(slow.objective)
                row = {
                    "size": size,
                    "quality": quality,
                    "seed": seed,
                    "sca": slow.objective,
                    "auto": plan.objective,
                    "sca_s": sca_s,
                    "auto_s": auto_s,
                    "reached_s": reached,
                    "kkt": relaxed.kkt_residual,
                    "bound": lower_bound(problem),
                }
                beside = ""
                if seed == FIRST_SEED or sum(task.slots for task in problem.tasks) <= PRODUCT_JOBS:
                    row |= product_form(problem, quick)
                    beside = (
                        f"; product form {row['product']:.5f} ({row['product'] / slow.objective:.2f} of sca) in "
                        f"{row['product_s']:.1f} s ({row['product_s'] / sca_s:.1f} of sca)"
                    )
                rows.append(row)
                speed = f"{sca_s / reached:.1f}x sooner" if reached else "not reached"
                print(
                    f"sca {size} {quality:10} seed {seed}: sca {slow.objective:.5f} in {sca_s:.1f} s (KKT "
                    f"{relaxed.kkt_residual:.1e}), auto {plan.objective:.5f} "
                    f"({plan.objective / slow.objective - 1:+.2%}) in {auto_s:.1f} s, {speed}{beside}",
                    flush=True,
                )
    return rows


def product_form(problem: Problem, quick: bool) -> Row:
    """Objective and CPU seconds of the reference in R, U and X that the tests keep."""
    from reference.product_form import product_sca

    begin = time.process_time()
    relaxed = product_sca(problem, iterations=2 if quick else 25)
    product_s = time.process_time() - begin
    done = finished(problem, whole_and_repaired(problem, relaxed.decisions), "sca")
    return {"product": done.objective, "product_s": product_s}


def sizes(seeds: int, quick: bool, kinds: Kinds) -> list[Row]:
    """Time and memory as problems grow; every plan is verified."""
    cases = [
        (10, 3, 100, 8.0),
        (100, 3, 300, 13.0),
        (1000, 3, 1000, 75.0),
        (10000, 3, 1000, 120.0),
    ]
    rows = []
    for *size, effort in [(10, 2, 10, 3.0)] if quick else cases:
        for kind in kinds:
            row = apart(planned, size, kind, effort)
            gap = f", gap <= {1 - row['bound'] / row['objective']:.0%}" if row["bound"] else ""
            print(
                f"size {row['size']} {row['quality']:10}: objective {row['objective']:.5f}{gap}, "
                f"effort {effort:.0f}, took {row['wall_s']:.1f} s ({row['cpu_s']:.1f} s CPU), "
                f"peak {row['memory_MB']:,.0f} MB, executable",
                flush=True,
            )
            rows.append(row)
    return rows


def cut_offs(seeds: int, quick: bool, kinds: Kinds) -> list[Row]:
    """How far a time limit is overrun, by the wall clock, with set-up."""
    cases = [
        ("auto", (10, 3, 100), 1.0),
        ("auto", (10, 3, 100), 5.0),
        ("auto", (100, 3, 300), 2.0),
        ("auto", (100, 3, 300), 10.0),
        ("auto", (1000, 3, 1000), 5.0),
        ("auto", (1000, 3, 1000), 20.0),
        ("sca", (10, 3, 30), 3.0),
        ("sca", (100, 3, 300), 3.0),
        ("exhaustive", (3, 1, 4), 0.5),
    ]
    rows = []
    for solver, size, limit_s in [("auto", (10, 2, 30), 0.5)] if quick else cases:
        for kind in kinds:
            row = apart(cut_off, size, kind, solver, limit_s)
            over_s = max(0.0, row["wall_s"] - limit_s)
            print(
                f"cut-off {row['size']} {row['quality']:10} {solver:10}: limit {limit_s:g} s, "
                f"took {row['wall_s']:.2f} s, over by {over_s:.2f} s of {row['allowed_s']:.1f} s: {row['status']}",
                flush=True,
            )
            rows.append(row)
    return rows


def cut_off(size: tuple[int, int, int], kind: tuple[str, str], solver: str, limit_s: float) -> Row:
    """A plan with more effort than the limit gives time for."""
    world = synthetic_world(*size, FIRST_SEED)
    known = synthetic_estimates(world, FIRST_SEED)
    begin = time.monotonic()
    effort = Effort(1e6, time_limit_s=limit_s)
    problem = problem_in_time(effort, world, known, quality=kind[0], dissimilarity=kind[1])
    try:
        status = str(solve(problem, solver=solver, effort=effort).status)
    except Infeasible as refusal:
        status = str(refusal)
    return {
        "size": tuple(size),
        "quality": kind[0],
        "solver": solver,
        "limit_s": limit_s,
        "wall_s": time.monotonic() - begin,
        "allowed_s": max(1.0, 0.1 * limit_s),
        "status": status,
    }


def growth(seeds: int, quick: bool, kinds: Kinds) -> list[Row]:
    """Time and memory of the first plan when devices, tasks or slots are doubled, one at a time."""
    base = (10, 2, 10) if quick else (100, 3, 300)
    doubled = [tuple(n * (1 + (k == axis)) for k, n in enumerate(base)) for axis in range(3)]
    rows = []
    for kind in kinds:
        rows_of_kind = [apart(planned, size, kind, LEAST_EFFORT) for size in [base, *doubled]]
        for row in rows_of_kind:
            print(
                f"growth {row['size']} {row['quality']:10}: first plan in {row['cpu_s']:.2f} s "
                f"({row['cpu_s'] / rows_of_kind[0]['cpu_s']:.2f}x), made in {row['made_s']:.2f} s, peak "
                f"{row['memory_MB']:,.0f} MB ({row['memory_MB'] - row['before_MB']:+,.0f} MB by the problem)",
                flush=True,
            )
        rows += rows_of_kind
    return rows


def planned(size: tuple[int, int, int], kind: tuple[str, str], effort: float) -> Row:
    """A plan of a problem of this size: what it took, once the libraries are loaded by a small one."""
    timed(synthetic_problem(3, 1, 4, FIRST_SEED, quality=kind[0], dissimilarity=kind[1]), "auto", 0.1)
    before_MB = peak_MB()
    begin = time.process_time()
    problem = synthetic_problem(*size, FIRST_SEED, quality=kind[0], dissimilarity=kind[1])
    made_s = time.process_time() - begin
    clock = time.monotonic()
    plan, cpu_s, _ = timed(problem, "auto", effort)
    wall_s = time.monotonic() - clock
    assert plan.executable
    return {
        "size": tuple(size),
        "quality": kind[0],
        "objective": plan.objective,
        "cpu_s": cpu_s,
        "wall_s": wall_s,
        "made_s": made_s,
        "before_MB": before_MB,
        "memory_MB": peak_MB(),
        "bound": lower_bound(problem),
    }


def apart(function: Callable[..., Row], *arguments: Any) -> Row:
    """In a process of its own, so that its peak memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def peak_MB() -> float:
    """Peak memory of this process so far; `getrusage` would tell that of whoever started it, if larger."""
    status = Path("/proc/self/status")
    if status.exists():
        return float(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


PARTS: dict[str, Callable[[int, bool, Kinds], list[Row]]] = {
    "tiny": tiny,
    "sca": against_sca,
    "sizes": sizes,
    "growth": growth,
    "cutoffs": cut_offs,
    "responses": responses,
    "odd": odd_scenarios,
}


def main() -> None:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--quality", nargs="+", choices=[kind[0] for kind in KINDS], help="default: both")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--quick", action="store_true", help="seconds, to see that it works; figures mean nothing"
    )
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    given = parser.parse_args()
    kinds = tuple(kind for kind in KINDS if given.quality is None or kind[0] in given.quality)
    rows = {name: PARTS[name](given.seeds, given.quick, kinds) for name in given.only}
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
