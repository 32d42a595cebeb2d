"""Whether plans are worth it: planned schemes beside `fedasync`, with real training, paired by seed.

    python benchmarks/planned.py [--tasks mnist fashion_mnist] [--schemes dma-fl dma-fl-nr dma-fl-ns] [--seeds 200-204]
                                 [--tuning-seed 100] [--output DIR] [--quick] [--data-dir DIR]
    python benchmarks/planned.py --results results [--partition dirichlet] [--tasks ...] [--schemes ...]

Preset `phone`. Constants and prediction are measured once, on the tuning seed; every seed has its own devices, channel
and partition. Printed for every task and scheme, against `fedasync`: difference of accuracy (mean over aggregations,
and final) and ratio of energy (devices and base station) to reach the accuracy that `fedasync` ends with, each with its
95% t-interval. A target that is not reached counts with the energy of the whole run, and is counted as missed; a seed
whose first model is as good as what `fedasync` ends with has no ratio, and is left out. With `--results` nothing is
run: the table is made from outcomes of `dmafl reproduce`. docs/planner.md has it.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import Any

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})

import numpy as np

import dmafl
from dmafl.base.statistics import interval, mean_over_aggregations, spent_to

BASELINE = "fedasync"


def curve(rows: list[dict[str, Any]], scheme: str, seed: int, task: str) -> np.ndarray:
    """Aggregation, accuracy and energy of every test, (n, 3)."""
    tests = [row for row in rows if (row["scheme"], row["seed"], row["task"]) == (scheme, seed, task)]
    return np.asarray(sorted((row["aggregation"], row["accuracy"], row["energy_J"]) for row in tests))


def rows_of_study(results: Path, partition: str) -> list[dict[str, Any]]:
    """Tests of all runs of the study in a partition."""
    from dmafl.experiments.reproduction.kept_outcomes import kept_outcomes
    from dmafl.experiments.reproduction.presets import study_of
    from dmafl.experiments.reproduction.results import Results

    outcomes, _ = kept_outcomes(study_of("phone"), Results(results), ("baselines", "planned"))
    return [
        {"scheme": outcome.study_run.scheme, "seed": outcome.study_run.seed, "task": task}
        | {"aggregation": int(aggregation), "accuracy": accuracy, "energy_J": energy_J}
        for outcome in outcomes
        if outcome.study_run.partition == partition
        for task, reached in outcome.tasks.items()
        for aggregation, accuracy, energy_J in zip(
            reached.curve["aggregation"], reached.curve["accuracy"], reached.energy_J, strict=True
        )
    ]


def show(rows: list[dict[str, Any]], schemes: list[str], seeds: list[int], tasks: list[str]) -> None:
    """Print the table."""
    print(
        f"{'task':14} {'scheme':14} {'mean accuracy':>18} {'final accuracy':>18}   energy to the same accuracy"
    )
    for task in tasks:
        for scheme in schemes:
            mean, final, ratio, missed = [], [], [], 0
            for seed in seeds:
                ours, theirs = (curve(rows, name, seed, task) for name in (scheme, BASELINE))
                mean.append(
                    mean_over_aggregations(ours[:, 0], ours[:, 1])
                    - mean_over_aggregations(theirs[:, 0], theirs[:, 1])
                )
                final.append(float(ours[-1, 1] - theirs[-1, 1]))
                target = float(theirs[-1, 1])
                planned, baseline = (spent_to(*curve_of_run.T, target) for curve_of_run in (ours, theirs))
                missed += planned.missed
                if planned.straight > 0 and baseline.straight > 0:
                    ratio.append(float(np.log(planned.straight / baseline.straight)))
            a, b, log = interval(mean), interval(final), interval(ratio)
            print(
                f"{task:14} {scheme:14} {a.mean:+9.4f} ± {a.half:.4f} {b.mean:+9.4f} ± {b.half:.4f}   "
                f"{np.exp(log.mean):.3f} ({np.exp(log.low):.3f} to {np.exp(log.high):.3f})"
                + (f", {len(seeds) - len(ratio)} seeds left out" if len(ratio) < len(seeds) else "")
                + (f", missed in {missed}" if missed else "")
            )


def main() -> None:
    """Measure, plan, train, compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", nargs="+", default=["mnist", "fashion_mnist"])
    parser.add_argument("--schemes", nargs="+", default=["dma-fl", "dma-fl-nr", "dma-fl-ns"])
    parser.add_argument("--seeds", default="200-204", help="first and last seed, e.g. 200-204")
    parser.add_argument("--tuning-seed", type=int, default=100)
    parser.add_argument("--effort", type=float, default=12.0, help="for a plan, about so many seconds")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument(
        "--output", type=Path, help="folder of the run, kept and resumed; else a temporary one"
    )
    parser.add_argument("--data-dir", type=Path, help="folder of the data sets")
    parser.add_argument(
        "--quick", action="store_true", help="seconds, to see that it works; figures mean nothing"
    )
    parser.add_argument("--results", type=Path, help="outcomes of `dmafl reproduce` to make the table of")
    parser.add_argument("--partition", default="dirichlet", help="of the study")
    given = parser.parse_args()
    if given.results is not None:
        rows = rows_of_study(given.results, given.partition)
        by_scheme = [
            {row["seed"] for row in rows if row["scheme"] == scheme} for scheme in (*given.schemes, BASELINE)
        ]
        seeds = sorted(set.intersection(*by_scheme))
        print(f"{given.partition}, seeds {', '.join(map(str, seeds))}")
        show(rows, given.schemes, seeds, given.tasks)
        return
    low, _, high = given.seeds.partition("-")
    seeds = list(range(int(low), int(high or low) + 1))
    phone = dmafl.preset("phone")
    changes: dict[str, Any] = {"slots": 8, "samples": 100} if given.quick else {}
    tasks = {name: phone.tasks[name].model_copy(update=changes) for name in given.tasks}
    scenario = phone.model_copy(update={"seed": given.tuning_seed, "tasks": tasks})
    measured = dmafl.measure(
        scenario, probes=12 if given.quick else 48, workers=given.workers, data_dir=given.data_dir
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.output if given.output is not None else Path(temporary) / "run"
        done = dmafl.run(
            scenario,
            schemes=[*given.schemes, BASELINE],
            seeds=seeds,
            output=folder,
            resume=True,
            workers=given.workers,
            data_dir=given.data_dir,
            measured={given.tuning_seed: measured},
            effort=1.0 if given.quick else given.effort,
        )
        show(done.metrics.to_pylist(), given.schemes, seeds, list(tasks))


if __name__ == "__main__":
    main()
