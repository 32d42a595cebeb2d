"""Whether the Gram bias p'Gamma p of a schedule ranks schedules as the accuracy they reach does.

    python benchmarks/gram_ranking.py [--seeds 200-204] [--schedules 30] [--quick] [--json FILE]

MNIST on ten devices (Dirichlet 0.5, growth, learning rate 0.05, mixing weight 0.6), 200 aggregations of 20 steps with
batches of 32, no staleness: schedules differ in who trains, and in nothing else. Four orders are compared: always the
device whose gradient is nearest to the global one; devices at random; in turn; and the greedy order that keeps
p'Gamma p lowest, p with a memory of 0.9. Then random schedules with few or many devices, in turn or at random, are
ranked by their Gram bias and by the accuracy reached. Full data from --data-dir or DMAFL_DATA_DIR, the embedded sample
otherwise. docs/calibration.md has the outcome.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})

import numpy as np

from dmafl.base.randomness import generator
from dmafl.calibration.dissimilarity import gram_at, label_mix
from dmafl.calibration.gram import gram_of_labels, mean_gram
from dmafl.calibration.probes import LAST, carry_out, reached
from dmafl.calibration.random_jobs import TESTED_EVERY
from dmafl.calibration.visited_models import visited_models
from dmafl.scenario.toml import from_plain
from dmafl.theory.calibration_fit import rank_correlation
from dmafl.theory.features import amount
from dmafl.theory.gram_bias import MEMORY, factors_of, gram_bias_of_slots
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.tested_jobs import TestedJobs
from dmafl.training.components import Components
from dmafl.training.trainer import Trainer

DEVICES, SLOTS, STEPS, BATCH = 10, 200, 20, 32
TASK: dict[str, Any] = {"dataset": "mnist", "slots": SLOTS, "samples": 1000, "mix_decay": 0.0}
RANDOM_ORDERS = 3
"""Draws of the random order, whose mean is shown."""
ORDERS = ("nearest device only", "random order", "round robin", "balanced by Gamma")


def balanced(gram: np.ndarray, slots: int) -> np.ndarray:
    """The greedy order: the next device is the one after which p'Gamma p is lowest."""
    amounts, order = np.zeros(len(gram)), []
    for _ in range(slots):
        tried = MEMORY * amounts + np.eye(len(gram))  # row i: device i comes next
        shares = tried / tried.sum(axis=1, keepdims=True)
        order.append(int(np.argmin(np.einsum("ki,ij,kj->k", shares, gram, shares))))
        amounts = tried[order[-1]]
    return np.asarray(order)


def random_order(seed: int, number: int, slots: int) -> np.ndarray:
    """Few or many devices, in turn or at random."""
    rng = generator(seed, "gram ranking", number)
    members = rng.permutation(DEVICES)[: rng.integers(1, DEVICES + 1)]
    return np.resize(members, slots) if rng.random() < 0.5 else rng.choice(members, slots)


def jobs_in(order: np.ndarray, trainer: Trainer) -> TaskJobs:
    """Jobs of equal work, each from the newest model."""
    task, slots = trainer.tasks[0].settings, len(order)
    ones, progress = np.ones(slots), np.arange(slots) / (slots - 1)
    start = task.samples_at_start
    return TaskJobs(
        device=order,
        version=np.arange(slots),
        steps=STEPS * ones,
        batch=BATCH * ones,
        samples=np.floor(start + (task.samples - start) * progress),
        mix=task.mixing * ones,
        rate=task.learning_rate * ones,
        proximal=task.proximal,
        **dict.fromkeys(("idle_s", "start_s", "download_s", "compute_s", "upload_s", "end_s"), 0 * ones),
    )


def study(seed: int, slots: int, schedules: int, data_dir: Path | None) -> dict[str, Any]:
    """Accuracies of the four orders, and rank correlations over random schedules, for one partition."""
    scenario = from_plain({"preset": "phone", "seed": seed, "tasks": {"mnist": TASK}})
    trainer = Trainer(scenario, Components(data_dir=data_dir))
    gradients, spread = mean_gram(gram_at(trainer, 0, model) for model in visited_models(trainer, 0))
    labels = gram_of_labels(label_mix(trainer, 0).held)
    runs = iter(range(10**6, 2 * 10**6))

    def trained(order: np.ndarray) -> TestedJobs:
        tested = [len(order) - TESTED_EVERY * k for k in range(LAST) if len(order) > TESTED_EVERY * k]
        return carry_out(trainer, 0, jobs_in(order, trainer), next(runs), tested)

    nearest = np.full(slots, int(np.argmin(np.diag(gradients))))
    draws = [generator(seed, "random order", k).integers(DEVICES, size=slots) for k in range(RANDOM_ORDERS)]
    orders = {
        "nearest device only": [nearest],
        "random order": draws,
        "round robin": [np.arange(slots) % DEVICES],
        "balanced by Gamma": [balanced(gradients, slots)],
    }
    accuracy = {
        name: float(np.mean([reached(trained(order))[1] for order in alike]))
        for name, alike in orders.items()
    }
    done = [trained(random_order(seed, number, slots)) for number in range(schedules)]
    accuracies = [reached(run)[1] for run in done]
    bias = {
        name: [
            float(gram_bias_of_slots(run.jobs.device, amount(run.jobs), factors_of(gram)).mean())
            for run in done
        ]
        for name, gram in (("gradients", gradients), ("labels", labels))
    }
    return {
        "seed": seed,
        "data": trainer.tasks[0].data.source,
        "accuracy": accuracy,
        "devices of the balanced order": len(set(orders["balanced by Gamma"][0].tolist())),
        "spread of Gamma": spread,
        "rank correlation": {
            name: rank_correlation(-np.asarray(values), accuracies) for name, values in bias.items()
        },
        "schedules": schedules,
        "runs": [
            {"devices": len(set(run.jobs.device.tolist())), "accuracy": reached(run)[1], "bias": value}
            for run, value in zip(done, bias["gradients"], strict=True)
        ],
    }


def show(outcomes: list[dict[str, Any]]) -> None:
    """Print one row per seed, then the means."""
    print(f"data: {outcomes[0]['data']}; {outcomes[0]['schedules']} random schedules per seed")
    print(
        f"{'seed':>5} {ORDERS[0]:>20} {ORDERS[1]:>13} {ORDERS[2]:>12} {ORDERS[3]:>18}   rank correlation, Gamma from"
    )
    print(f"{'':>5} {'(accuracy)':>20} {'':>13} {'':>12} {'':>18}   {'gradients':>10} {'labels':>8}")
    rows = [(str(outcome["seed"]), outcome["accuracy"], outcome["rank correlation"]) for outcome in outcomes]
    rows.append(
        (
            "mean",
            {name: float(np.mean([outcome["accuracy"][name] for outcome in outcomes])) for name in ORDERS},
            {
                name: float(np.mean([outcome["rank correlation"][name] for outcome in outcomes]))
                for name in ("gradients", "labels")
            },
        )
    )
    for label, accuracy, ranks in rows:
        a, b, c, d = (accuracy[name] for name in ORDERS)
        print(
            f"{label:>5} {a:20.3f} {b:13.3f} {c:12.3f} {d:18.3f}   {ranks['gradients']:10.3f} {ranks['labels']:8.3f}"
        )


def main() -> None:
    """Run the study and print its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", default="200-204", help="first and last seed, e.g. 200-204")
    parser.add_argument("--schedules", type=int, default=30, help="random schedules per seed")
    parser.add_argument(
        "--quick", action="store_true", help="seconds, to see that it works; figures mean nothing"
    )
    parser.add_argument("--data-dir", type=Path, help="folder of the data sets")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    given = parser.parse_args()
    low, _, high = given.seeds.partition("-")
    seeds = range(int(low), int(high or low) + 1)[: 1 if given.quick else None]
    slots, schedules = (20, 4) if given.quick else (SLOTS, given.schedules)
    outcomes = [study(seed, slots, schedules, given.data_dir) for seed in seeds]
    show(outcomes)
    if given.json:
        given.json.write_text(json.dumps(outcomes, indent=1))


if __name__ == "__main__":
    main()
