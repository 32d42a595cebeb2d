"""Accuracy on the real data: a fresh round robin and fedasync on MNIST, a fresh round robin of the CNN on SVHN.

Ten devices, Dirichlet 0.5, growth from 30% to 100% of a device's samples over the aggregations, learning rate 0.05,
proximal weight 0.1, mixing weight 0.6 with polynomial staleness 0.5, 20 steps of 32 samples. Needs the full data
sets (DMAFL_DATA_DIR or the cache); `--tasks mnist` leaves out the CNN, which takes minutes.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import dmafl
from dmafl.scenario.toml import from_plain

COMMON = {
    "learning_rate": 0.05,
    "proximal": 0.1,
    "mixing": 0.6,
    "mix_decay": 0.0,
    "staleness_weight": "polynomial",
    "staleness_a": 0.5,
    "steps_min": 20,
    "steps_max": 20,
    "batch_min": 32,
    "batch_max": 32,
    "max_staleness": 5,
    "window_s": 1e6,
    "partition": "dirichlet",
    "concentration": 0.5,
    "drift": {"kind": "growth", "start_fraction": 0.3, "per_aggregation": True},
}
TASKS = {
    "mnist": {**COMMON, "dataset": "mnist", "model": "softmax", "slots": 200, "samples": 1000},
    "svhn": {**COMMON, "dataset": "svhn", "model": "cnn", "slots": 150, "samples": 2000},
}
EXPECTED = {
    ("mnist", "scheduled"): "0.885 +- 0.02",
    ("mnist", "fedasync"): "0.82 to 0.88",
    ("svhn", "scheduled"): "above 0.70",
    ("svhn", "fedasync"): "(not asked)",
}


def scenario(task: str, slots: int | None) -> dmafl.Scenario:
    """One task on ten devices."""
    settings = TASKS[task] | ({"slots": slots} if slots else {})
    return from_plain({"preset": "phone", "name": task, "tasks": {task: settings}})


def finals(task: str, scheme: str, seeds: int, slots: int | None, workers: int) -> list[float]:
    """Final accuracy on the whole test set, seed by seed."""
    accuracies = []
    with tempfile.TemporaryDirectory() as folder:
        if scheme == "scheduled":
            for seed in range(seeds):
                seeded = scenario(task, slots).model_copy(update={"seed": seed})
                world = dmafl.World.resolve(seeded)
                plan = dmafl.Plan(world, dmafl.round_robin(world))
                output = Path(folder) / str(seed)
                run = dmafl.run(seeded, plan, schemes=[scheme], output=output, workers=workers)
                accuracies.append(run.metrics.column("accuracy").to_pylist()[-1])
        else:
            run = dmafl.run(
                scenario(task, slots),
                schemes=[scheme],
                seeds=range(seeds),
                output=Path(folder) / "run",
                workers=workers,
            )
            rows = run.metrics.to_pylist()
            last = max(row["aggregation"] for row in rows)
            accuracies = [row["accuracy"] for row in rows if row["aggregation"] == last]
            periods = run.periods.filter(
                run.periods.column("outcome").to_numpy(zero_copy_only=False) == "aggregated"
            )
            stale = periods.column("staleness").to_numpy()
            print(f"  {scheme}: staleness mean {stale.mean():.2f}, largest {stale.max()}")
    return accuracies


def main() -> None:
    """Print final accuracies beside what is expected."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", nargs="*", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--schemes", nargs="*", default=["scheduled", "fedasync"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--slots", type=int)
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    for task in arguments.tasks:
        for scheme in arguments.schemes:
            accuracy = np.asarray(finals(task, scheme, arguments.seeds, arguments.slots, arguments.workers))
            listed = " ".join(f"{value:.3f}" for value in accuracy)
            expected = EXPECTED.get((task, scheme), "")
            print(f"{task:6} {scheme:10} mean {accuracy.mean():.4f}  ({listed})  expected {expected}")


if __name__ == "__main__":
    main()
