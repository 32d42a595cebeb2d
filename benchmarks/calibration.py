"""How well predictions rank schedules by the loss they reach: rank correlation over runs that no fit has seen.

    python benchmarks/calibration.py [--tasks mnist fashion_mnist svhn] [--seeds 210-214] [--quick] [--json FILE]

Ten devices, Dirichlet 0.5, growth, learning rate 0.05. For every seed, which is a partition, random schedules are
trained: few or many devices, in turn or at random, 1-40 steps, batches of 8-64, staleness 0-5, mixing weight 0.25-0.9.
The first ones are probes, tested on their way; the others are held out; "new" ranks the runs of all other seeds with
the fit of the first seed. "ends alone" is the same prediction, fitted to nothing but the end of every probe. The CNN's
runs begin at a warmed-up model, have up to 20 steps, and come from one seed, or it would take hours. `--quick` shows
that everything works. Needs the full data sets: --data-dir, or DMAFL_DATA_DIR. docs/calibration.md has the outcome.
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
from dmafl.calibration.probes import LAST, carry_out, reached, warmed_up
from dmafl.calibration.random_jobs import ProbePlan, random_jobs
from dmafl.learning.arrays import Vector
from dmafl.scenario.toml import from_plain
from dmafl.theory.block import block
from dmafl.theory.calibrated import Calibration
from dmafl.theory.calibration_files import plain_calibration
from dmafl.theory.calibration_fit import RESPONSES, calibrate, fit, rank_correlation
from dmafl.theory.constants import PER_DEVICE, Constants
from dmafl.theory.course import Course, predict_jobs, trained_before
from dmafl.theory.features import features
from dmafl.theory.gram_bias import diagonal_gram
from dmafl.theory.label_bias import RESPONSE
from dmafl.theory.label_mix import LabelMix
from dmafl.theory.prefixes import features_of_prefixes
from dmafl.theory.sharp import sharp
from dmafl.theory.tested_jobs import TestedJobs
from dmafl.theory.theorem1 import theorem1
from dmafl.training.components import Components
from dmafl.training.trainer import Trainer

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
    tested_every: int = 3
    """Slots between the tests that a fit sees."""
    seeds: int | None = None
    """How many of the seeds are used; None: all."""
    bounds: bool = True
    """Whether the constants of the bounds are measured, which takes minutes for the CNN."""

    @property
    def plan(self) -> ProbePlan:
        """How long the runs are, and which of their tests a fit sees."""
        return ProbePlan(self.slots, self.largest_steps, self.warm_up_slots, self.tested_every)

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
        slots=100,
        largest_steps=20,
        probes=(24,),
        held_out=30,
        warm_up_slots=60,
        tested_every=10,
        seeds=1,
    ),
}


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of one seed, and what schedules are judged with."""

    probes: list[TestedJobs]
    """Tested as a fit sees them."""
    losses: np.ndarray
    """Losses reached: the mean of five tests at the end, three slots apart."""
    constants: Constants
    labels: LabelMix
    course: Course | None = None


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


ENDS_ALONE = "calibrated, ends alone"
"""The prediction as it is, fitted to nothing but the end of every probe."""
FITTED: dict[str, Callable[[Runs], Known]] = {
    "calibrated": calibrated,
    ENDS_ALONE: calibrated,
    "without label bias": gram_alone,
    "... Gamma from gradients": gradients_alone,
    "... delta_i for Gamma": diagonal,
}

BOUNDS: dict[str, Callable[[TestedJobs, Constants], float]] = {
    "printed": lambda probe, c: theorem1(probe.jobs, c, float(probe.jobs.mix[0])).log_value,
    "sharp": lambda probe, c: sharp(probe.jobs, c).value,
    "block": lambda probe, c: block(probe.jobs, c, np.arange(0, len(probe.jobs), BLOCK)).value,
}


def runs_of(name: str, study: Study, seed: int, data_dir: Path | None) -> Runs:
    """Train under all random schedules of a seed."""
    scenario = from_plain({"preset": "phone", "seed": seed, "tasks": {name: COMMON | study.settings}})
    trainer = Trainer(scenario, Components(data_dir=data_dir))
    labels = label_mix(trainer, 0)
    constants = no_constants(labels)
    if study.bounds:
        constants = Constants(**{key: estimate.value for key, estimate in estimate_task(trainer, 0).items()})
    start = course = None
    if study.warm_up_slots:
        warm = warmed_up(trainer, 0, slots=study.warm_up_slots)
        start, course = warm.model, warm.course
        constants = replace(constants, first_loss=trainer.test(0, start, 1.0, False).loss)
    runs = [_run(trainer, study, number, start) for number in range(max(study.probes) + study.held_out)]
    losses = np.asarray([reached(_only(run, _at_the_end(study)))[0] for run in runs])
    return Runs([_only(run, study.plan.tested) for run in runs], losses, constants, labels, course)


def _run(trainer: Trainer, study: Study, number: int, start: Vector | None) -> TestedJobs:
    """The run under the random schedule with this number, tested for a fit and for what it reached."""
    plan, scenario = study.plan, trainer.scenario
    jobs = random_jobs(
        trainer.tasks[0].settings,
        scenario.fleet.devices,
        plan.slots,
        seed=scenario.seed,
        number=number,
        largest_steps=plan.largest_steps,
    )
    return carry_out(trainer, 0, jobs, number, {*plan.tested, *_at_the_end(study)}, start)


def _at_the_end(study: Study) -> list[int]:
    """Numbers of slots after which what was reached is tested."""
    return [study.slots - 3 * k for k in range(LAST)]


def _only(run: TestedJobs, slots: Sequence[int]) -> TestedJobs:
    """The run with only the tests after these numbers of slots."""
    rows = np.isin(run.slots, slots)
    return TestedJobs(run.jobs, run.slots[rows], run.losses[rows], run.accuracies[rows])


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
            fitted = _fit_to_ends if label == ENDS_ALONE else _fit
            fits = {seed: fitted(trained, what, count) for seed, trained in runs.items()}
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
    """The fit to all tests of the first `count` runs."""
    return calibrate(runs.probes[:count], *what(runs), slots=COMMON["slots"], course=runs.course)


def _fit_to_ends(runs: Runs, what: Callable[[Runs], Known], count: int) -> Calibration:
    """The fit to the losses that the first `count` runs reached, as it was before probes were tested on their way."""
    constants, labels = what(runs)
    early = runs.course.tested if runs.course is not None else None
    fits = []
    for response in RESPONSES if labels is not None else (RESPONSE,):
        seen = [
            trained_before(features(probe.jobs, constants, labels, response), runs.course)
            for probe in runs.probes[:count]
        ]
        first = (
            []
            if early is None
            else features_of_prefixes(early.jobs, early.slots, constants, labels, response)
        )
        fits.append(
            fit(
                seen,
                runs.losses[:count],
                slots=COMMON["slots"],
                response=response,
                early=first,
                early_losses=early.losses if early is not None else (),
            )
        )
    return max(fits, key=lambda calibration: calibration.correlation)


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
    parser.add_argument("--seeds", default="210-214", help="first and last seed")
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
