"""How well predictions rank schedules by the loss they reach: rank correlation over runs that no fit has seen.

    python benchmarks/calibration.py [--tasks mnist fashion_mnist svhn] [--seeds 200-204] [--quick] [--json FILE]

Ten devices, Dirichlet 0.5, growth, learning rate 0.05. For every seed, which is a partition, random schedules are
trained: few or many devices, in turn or at random, 1-40 steps, batches of 8-64, staleness 0-5, mixing weight 0.25-0.9.
The first ones are probes, the others are held out; "new" ranks the runs of all other seeds with the fit of the first
seed. The CNN's runs begin at a warmed-up model, have up to 20 steps, and come from one seed, or it would take hours.
`--quick` shows that everything works. Needs the full data sets: --data-dir, or DMAFL_DATA_DIR. docs/calibration.md has
the outcome.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})

import numpy as np

from dmafl.calibration.dissimilarity import label_mix
from dmafl.calibration.estimates import estimate_task
from dmafl.calibration.gram import gram_of_labels
from dmafl.calibration.probes import Probe, run_probes, warmed_up
from dmafl.scenario.toml import from_plain
from dmafl.theory.block import block
from dmafl.theory.calibrated import Calibration
from dmafl.theory.calibration_files import plain_calibration
from dmafl.theory.calibration_fit import calibrate, rank_correlation
from dmafl.theory.constants import PER_DEVICE, Constants
from dmafl.theory.course import Course, predict_jobs
from dmafl.theory.gram_bias import diagonal_gram
from dmafl.theory.label_mix import LabelMix
from dmafl.theory.sharp import sharp
from dmafl.theory.theorem1 import theorem1
from dmafl.training.trainer import Components, Trainer

COMMON: dict[str, Any] = {"slots": 200, "proximal": 0.1, "mix_decay": 0.0, "learning_rate": 0.05}
BLOCK = 10
"""Slots of a block of `block`: one round of ten devices."""


@dataclass(frozen=True)
class Study:
    """What is run for one task."""

    settings: dict[str, Any]
    slots: int = 150
    largest_steps: int = 40
    probes: tuple[int, ...] = (24, 48)
    held_out: int = 100
    warm_up_slots: int = 0
    seeds: int | None = None
    """How many of the seeds are used; None: all."""
    bounds: bool = True
    """Whether the constants of the bounds are measured, which takes minutes for the CNN."""

    def quick(self) -> Study:
        """The same in seconds."""
        return replace(
            self,
            slots=20,
            largest_steps=5,
            probes=(16,),
            held_out=8,
            warm_up_slots=min(2, self.warm_up_slots),
            bounds=self.warm_up_slots == 0,
        )


STUDIES = {
    "mnist": Study({"dataset": "mnist", "model": "softmax", "samples": 1000}),
    "fashion_mnist": Study({"dataset": "fashion_mnist", "model": "softmax", "samples": 1000}),
    "svhn": Study(
        {"dataset": "svhn", "model": "cnn", "samples": 2000},
        slots=60,
        largest_steps=20,
        probes=(24, 48, 120),
        held_out=80,
        warm_up_slots=60,
        seeds=1,
    ),
}


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of one seed, and what schedules are judged with."""

    probes: list[Probe]
    constants: Constants
    labels: LabelMix
    course: Course | None = None

    @property
    def losses(self) -> np.ndarray:
        """Losses reached."""
        return np.asarray([probe.loss for probe in self.probes])


Known = tuple[Constants, LabelMix | None]
"""What a fitted prediction knows of a partition."""


def calibrated(runs: Runs) -> Known:
    """`calibrated` as it is."""
    return replace(runs.constants, gram=gram_of_labels(runs.labels.held)), runs.labels


def gram_alone(runs: Runs) -> Known:
    """Without the label bias: the form it began with."""
    return calibrated(runs)[0], None


def gradients_alone(runs: Runs) -> Known:
    """The same with Gamma from gradients: what a task without labels has."""
    return runs.constants, None


def diagonal(runs: Runs) -> Known:
    """The same with delta_i in place of Gamma: sum_i p_i delta_i, since the p_i sum to 1."""
    delta = np.diag(gram_of_labels(runs.labels.held))
    return replace(runs.constants, gram=diagonal_gram(delta)), None


FITTED: dict[str, Callable[[Runs], Known]] = {
    "calibrated": calibrated,
    "without label bias": gram_alone,
    "... Gamma from gradients": gradients_alone,
    "... delta_i for Gamma": diagonal,
}

BOUNDS: dict[str, Callable[[Probe, Constants], float]] = {
    "printed": lambda probe, c: theorem1(probe.jobs, c, float(probe.jobs.mix[0])).log_value,
    "sharp": lambda probe, c: sharp(probe.jobs, c).value,
    "block": lambda probe, c: block(probe.jobs, c, np.arange(0, len(probe.jobs), BLOCK)).value,
}


def runs_of(name: str, study: Study, seed: int, data_dir: Path | None) -> Runs:
    """Train under all random schedules of a seed."""
    scenario = from_plain({"preset": "phone", "seed": seed, "tasks": {name: COMMON | study.settings}})
    trainer = Trainer(scenario, Components(data_dir))
    labels = label_mix(trainer, 0)
    constants = no_constants(labels)
    if study.bounds:
        constants = Constants(**{key: estimate.value for key, estimate in estimate_task(trainer, 0).items()})
    start = course = None
    if study.warm_up_slots:
        warm = warmed_up(trainer, 0, slots=study.warm_up_slots)
        start, course = warm.model, warm.course
        constants = replace(constants, first_loss=trainer.test(0, start, 1.0, False).loss)
    numbers = range(max(study.probes) + study.held_out)
    done = run_probes(trainer, 0, numbers, slots=study.slots, largest_steps=study.largest_steps, start=start)
    return Runs(list(done), constants, labels, course)


def no_constants(labels: LabelMix) -> Constants:
    """Constants of which only Gamma means anything."""
    values: dict[str, Any] = dict.fromkeys(
        (column.name for column in fields(Constants) if column.name != "factors"), 1.0
    )
    values |= dict.fromkeys(PER_DEVICE, np.zeros(len(labels.held)))
    return Constants(**(values | {"gram": gram_of_labels(labels.held)}))


def study_task(name: str, study: Study, seeds: Sequence[int], data_dir: Path | None) -> list[dict[str, Any]]:
    """Rows of the table: rank correlations on the partition of the probes, and on new ones."""
    begin = time.time()
    runs = {}
    for seed in seeds:
        runs[seed] = runs_of(name, study, seed, data_dir)
        print(
            f"  {name}, seed {seed}: {len(runs[seed].probes)} runs, {time.time() - begin:.0f} s", flush=True
        )
    first = max(study.probes)
    rows = []
    for label, what in FITTED.items():
        for count in study.probes:
            fits = {seed: _fit(trained, what, count) for seed, trained in runs.items()}
            same = [_ranks(runs[seed], what, fits[seed], first) for seed in seeds]
            new = [_ranks(runs[seed], what, fits[seeds[0]], 0) for seed in seeds[1:]]
            rows.append(
                _row(name, label, count, same, new)
                | {"fits": [plain_calibration(fits[seed]) for seed in seeds]}
            )
    for label, bound in BOUNDS.items() if study.bounds else ():
        values = {
            seed: [bound(probe, trained.constants) for probe in trained.probes]
            for seed, trained in runs.items()
        }
        same = [rank_correlation(values[seed][first:], runs[seed].losses[first:]) for seed in seeds]
        rows.append(_row(name, label, 0, same, []))
    return rows


def _fit(runs: Runs, what: Callable[[Runs], Known], count: int) -> Calibration:
    """The fit to the first `count` runs."""
    jobs = [probe.jobs for probe in runs.probes[:count]]
    return calibrate(jobs, runs.losses[:count], *what(runs), slots=COMMON["slots"], course=runs.course)


def _ranks(runs: Runs, what: Callable[[Runs], Known], calibration: Calibration, first: int) -> float:
    """Rank correlation over the runs from `first` on."""
    known = what(runs)
    predicted = [
        predict_jobs(probe.jobs, *known, calibration, runs.course).value for probe in runs.probes[first:]
    ]
    return rank_correlation(predicted, runs.losses[first:])


def _row(task: str, label: str, probes: int, same: list[float], new: list[float]) -> dict[str, Any]:
    return {"task": task, "prediction": label, "probes": probes, "same": same, "new": new}


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Print the table."""
    print(f"{'task':14} {'prediction':26} {'probes':>6}  {'same partition':22} {'new partitions':22}")
    for row in rows:
        cells = [
            f"{np.mean(correlations):6.3f} ({min(correlations):.3f} to {max(correlations):.3f})"
            if correlations
            else "-"
            for correlations in (row["same"], row["new"])
        ]
        print(
            f"{row['task']:14} {row['prediction']:26} {row['probes'] or '-':>6}  {cells[0]:22} {cells[1]:22}"
        )


def main() -> None:
    """Run the studies asked for and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", nargs="+", default=["mnist", "fashion_mnist"], choices=list(STUDIES))
    parser.add_argument("--seeds", default="200-204", help="first and last seed, e.g. 200-204")
    parser.add_argument(
        "--quick", action="store_true", help="seconds, to see that it works; figures mean nothing"
    )
    parser.add_argument("--data-dir", type=Path, help="folder of the data sets")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    given = parser.parse_args()
    low, _, high = given.seeds.partition("-")
    seeds = list(range(int(low), int(high or low) + 1))[: 2 if given.quick else None]
    rows = []
    for name in given.tasks:
        study = STUDIES[name].quick() if given.quick else STUDIES[name]
        rows += study_task(name, study, seeds[: study.seeds], given.data_dir)
    show(rows)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
