"""Carrying out what is missing of a study."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.files import locked
from dmafl.base.watching import Watcher
from dmafl.calibration.measure import measure
from dmafl.calibration.measured import write_measured
from dmafl.data.lookup import find
from dmafl.experiments.campaign.campaign import carry_out, missing
from dmafl.experiments.campaign.shard import Shard
from dmafl.experiments.executors.executor import Executor
from dmafl.experiments.executors.local import processes_here
from dmafl.experiments.executors.registry import executor_named
from dmafl.experiments.reproduction.design import Study
from dmafl.experiments.reproduction.kept_outcomes import key_of
from dmafl.experiments.reproduction.piece import StudyPiece
from dmafl.experiments.reproduction.results import Results
from dmafl.experiments.reproduction.selection import needed
from dmafl.experiments.reproduction.study_run import StudyRun


def reproduce(
    study: Study,
    results: Results,
    *,
    study_runs: Iterable[StudyRun] | None = None,
    work: Path,
    workers: int | None = None,
    on: str | Executor = "local",
    data_dir: Path | None = None,
    shard: Shard | None = None,
    watcher: Watcher | None = None,
) -> list[str]:
    """Carry out those of `study_runs` (all of the study, by default) that have no outcome; returns what failed.

    `on` and `workers` are those of `dmafl.sweep`.
    """
    watcher = watcher if watcher is not None else Watcher()
    shard = shard if shard is not None else Shard()
    on = executor_named(on)
    here = processes_here(on, workers)
    with locked(work):
        pieces = []
        for study_run in needed(study) if study_runs is None else study_runs:
            constants = None
            if study_run.planned:
                constants = results.measured_file(study_run.preset, study_run.partition)
                if not constants.exists():
                    _measure(study, study_run.partition, constants, here, data_dir, watcher)
            key = key_of(results, study_run)
            pieces.append(
                StudyPiece(study_run, key, results.path, work, study.tuning_seed, constants, data_dir)
            )
        without = [piece for piece in missing(pieces) if shard.takes(piece.key)]
        if without:
            _check_data(study, data_dir)
        problems = carry_out("study runs", without, on, workers, work, watcher)
    return [f"{piece.name}: {problems[piece.key]}" for piece in without if piece.key in problems]


def _measure(
    study: Study, partition: str, path: Path, workers: int, data_dir: Path | None, watcher: Watcher
) -> None:
    """Measure the constants of a partition on the tuning seed, and write them to `path`."""
    _check_data(study, data_dir)
    tuning = study.study_run(partition, "fedasync", study.tuning_seed)
    with watcher.part(f"measuring: {tuning.preset}, {tuning.partition}, seed {tuning.seed}") as part:
        measured = measure(
            tuning.scenario(), probes=study.probes, workers=workers, data_dir=data_dir, watcher=part
        )
    write_measured(measured, path)


def _check_data(study: Study, data_dir: Path | None) -> None:
    """Refuse data sets that are too small for the study: the embedded samples are."""
    for name, wanted in study.data_sizes.items():
        there = len(find(name, data_dir).x_train)
        if there < wanted:
            raise bad_input(
                f"data set {name}",
                f"must have {wanted:,} training samples for the study",
                ShownAsIs(f"{there:,}"),
                f"Get it with `dmafl data fetch {name}`, or name its folder with --data-dir.",
            )
