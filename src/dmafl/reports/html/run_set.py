"""Several run folders as one set of columns: schemes and tasks as numbers, every value checked as it enters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.files import columns_of
from dmafl.experiments.run.run import Run
from dmafl.simulation.periods import Metrics, Periods
from dmafl.simulation.run_name import RunName
from dmafl.world.world import World

Columns = dict[str, np.ndarray[Any, Any]]
_REMEDY = "The folder is damaged or was put together by hand: run again."


@dataclass(frozen=True)
class ReportSeries:
    """A scheme with a seed, in one of the runs. `scheme` is its number among all schemes of the page."""

    run: int
    scheme: int
    seed: int
    name: str
    """As the manifest calls it."""


@dataclass(frozen=True, eq=False)
class RunSet:
    """What the folders hold. `scheme` and `task` of `metrics` and `periods` are numbers in `schemes` and `tasks`."""

    runs: tuple[Run, ...]
    names: tuple[str, ...]
    """Of the folders, each different."""
    schemes: tuple[str, ...]
    """Names of schemes, with the folder's where two folders have the same scheme."""
    tasks: tuple[str, ...]
    series: tuple[ReportSeries, ...]
    metrics: Metrics
    periods: Periods
    worlds: Mapping[tuple[int, int], World]
    """By run and seed."""

    @property
    def real(self) -> bool:
        """Whether real devices did the work of all runs."""
        return all(run.manifest.real for run in self.runs)

    @property
    def scheme_names(self) -> tuple[str, ...]:
        """Of each scheme of the page its name alone."""
        own = {series.scheme: RunName.parse(series.name).scheme for series in self.series}
        return tuple(own.get(number, name) for number, name in enumerate(self.schemes))

    @property
    def seeds(self) -> tuple[int, ...]:
        """All seeds, sorted."""
        return tuple(sorted({series.seed for series in self.series}))

    def seeds_of(self, scheme: int) -> tuple[int, ...]:
        """Seeds of one scheme."""
        return tuple(series.seed for series in self.series if series.scheme == scheme)

    def tests(self, scheme: int, task: int, seed: int) -> Metrics:
        """The metrics of one curve, in order."""
        metrics = self.metrics
        of_curve = (metrics["scheme"] == scheme) & (metrics["task"] == task) & (metrics["seed"] == seed)
        curve = metrics.where(np.flatnonzero(of_curve))
        return curve.where(np.argsort(curve["aggregation"], kind="stable"))

    def jobs(self, series: ReportSeries) -> Periods:
        """The local periods of a series."""
        periods = self.periods
        return periods.where((periods["scheme"] == series.scheme) & (periods["seed"] == series.seed))

    def world(self, series: ReportSeries) -> World:
        """The world of a series."""
        return self.worlds[series.run, series.seed]


def gather(runs: Sequence[Run | str | Path]) -> RunSet:
    """Read the folders of `runs`, finished or not; refuses what is not a run."""
    if not runs:
        raise bad_input("runs", "must be at least one", ShownAsIs("none"), "Name the folder of a run.")
    opened = tuple(Run(Path(run.path)) if isinstance(run, Run) else Run(Path(run)) for run in runs)
    names = _names([run.path for run in opened])
    worlds = {
        (number, seed): world for number, run in enumerate(opened) for seed, world in _worlds(run).items()
    }
    labels = _labels(opened, names)
    schemes = tuple(labels.values())
    tasks = tuple(dict.fromkeys(task for run in opened for task in run.scenario.tasks))
    series = tuple(
        ReportSeries(number, schemes.index(labels[number, name.scheme]), name.seed, str(name))
        for number, run in enumerate(opened)
        for name in run.manifest.run_names
    )
    scheme_numbers = [
        {scheme: k for k, (of_run, scheme) in enumerate(labels) if of_run == number}
        for number in range(len(opened))
    ]
    metrics, periods = (
        _joined(
            [
                _columns(run, getattr(run, name), numbers, tasks)
                for run, numbers in zip(opened, scheme_numbers, strict=True)
            ]
        )
        for name in ("metrics", "periods")
    )
    return RunSet(opened, names, schemes, tasks, series, Metrics(metrics), Periods(periods), worlds)


def _worlds(run: Run) -> dict[int, World]:
    """The world of every seed; refuses a run whose parts do not fit together."""
    path, tasks = str(run.path), list(run.scenario.tasks)
    periods = Periods.of_table(run.periods)
    worlds = {}
    for seed in run.manifest.seeds:
        world = worlds[seed] = run.world(seed)
        if list(world.task_names) != tasks:
            raise bad_input(
                f"{path}: worlds.{seed}",
                f"must have the tasks {', '.join(tasks)}",
                list(world.task_names),
                _REMEDY,
            )
        devices = periods["device"][periods["seed"] == seed]
        if len(devices) and not (devices.min() >= 0 and devices.max() < world.device_count):
            raise bad_input(
                f"{path}: periods.device",
                f"must be from 0 to {world.device_count - 1}",
                int(devices.max()),
                _REMEDY,
            )
    return worlds


def _names(paths: Sequence[Path]) -> tuple[str, ...]:
    """Short names of folders; the whole path where two are called alike."""
    short = [path.resolve().name for path in paths]
    names = [name if short.count(name) == 1 else str(path) for name, path in zip(short, paths, strict=True)]
    for name in names:
        if names.count(name) > 1:
            raise bad_input("runs", "must be different folders", name, "Name each folder once.")
    return tuple(names)


def _labels(runs: Sequence[Run], names: Sequence[str]) -> dict[tuple[int, str], str]:
    """(run, scheme) -> the name of the scheme in the page."""
    every = [scheme for run in runs for scheme in run.manifest.schemes]
    return {
        (number, scheme): scheme if every.count(scheme) == 1 else f"{scheme} ({names[number]})"
        for number, run in enumerate(runs)
        for scheme in run.manifest.schemes
    }


def _columns(run: Run, table: Any, schemes: Mapping[str, int], tasks: Sequence[str]) -> Columns:
    columns: Columns = columns_of(table)
    of_scenario = set(run.scenario.tasks)
    try:
        columns["scheme"] = np.asarray([schemes[name] for name in columns["scheme"]], dtype=np.int64)
        columns["task"] = np.asarray(
            [tasks.index(name) for name in columns["task"] if name in of_scenario or _unknown(name)],
            dtype=np.int64,
        )
    except KeyError as error:
        raise bad_input(
            str(run.path), "must hold rows of its own schemes and tasks", ShownAsIs(str(error)), _REMEDY
        ) from None
    for name, column in columns.items():
        if column.dtype == object and name != "outcome":
            columns[name] = column.astype(np.float64)
    return columns


def _unknown(name: object) -> bool:
    raise KeyError(name)


def _joined(tables: Sequence[Columns]) -> Columns:
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
