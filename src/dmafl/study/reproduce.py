"""Carrying out what is missing of a study, and reading what is there."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dmafl.data.lookup import find
from dmafl.errors import ShownAsIs, bad_input
from dmafl.files import locked
from dmafl.measuring.measure import measure
from dmafl.measuring.measured import read_measured, write_measured
from dmafl.measuring.watching import Silent, Watcher
from dmafl.study.design import Study
from dmafl.study.results import Outcome, Results
from dmafl.study.selection import needed
from dmafl.study.unit import Unit
from dmafl.study.workers import Order, carry_out_all


@dataclass(frozen=True)
class Shard:
    """The part of the missing units that this machine takes: those whose key falls to `number` of `count`."""

    number: int = 0
    count: int = 1

    def takes(self, key: str) -> bool:
        """Whether a key falls to this part."""
        return int(key[:8], 16) % self.count == self.number


class View(Protocol):
    """Sees how a study goes."""

    def measuring(self, unit: Unit) -> Watcher:
        """The constants of the world of `unit` are being measured."""
        ...

    def total(self, units: int) -> None:
        """So many units will be carried out."""
        ...

    def watch(self, order: Order, state: str) -> None:
        """An order has `begun`, is `finished`, or has failed, and why."""
        ...


class Unseen:
    """A view that shows nothing."""

    def measuring(self, unit: Unit) -> Watcher:
        """Nothing."""
        return Silent()

    def total(self, units: int) -> None:
        """Nothing."""

    def watch(self, order: Order, state: str) -> None:
        """Nothing."""


def reproduce(
    study: Study,
    results: Results,
    *,
    units: Iterable[Unit] | None = None,
    work: Path,
    workers: int = 1,
    data_dir: Path | None = None,
    shard: Shard | None = None,
    view: View | None = None,
) -> list[str]:
    """Carry out those of `units` (all of the study, by default) that have no outcome; returns what failed."""
    view = view if view is not None else Unseen()
    shard = shard if shard is not None else Shard()
    with locked(work):
        orders = []
        seen = set()
        for unit in needed(study) if units is None else units:
            if unit.planned:
                _measured(study, results, unit, workers, data_dir, view)
            key = key_of(study, results, unit)
            if key in seen:
                continue
            if results.find(key, unit) is not None:
                shutil.rmtree(work / key, ignore_errors=True)  # left when it was stopped just then
            elif shard.takes(key):
                seen.add(key)
                file = results.measured_file(unit.preset, unit.partition) if unit.planned else None
                orders.append(Order(unit, key, results.path, work, study.tuning_seed, file, data_dir))
        if orders:
            _check_data(study, data_dir)
        view.total(len(orders))
        return carry_out_all(orders, workers, view.watch)


def key_of(study: Study, results: Results, unit: Unit) -> str:
    """The key of a unit; constants that it plans with must be measured."""
    if not unit.planned:
        return unit.key("")
    return unit.key(read_measured(results.measured_file(unit.preset, unit.partition)).key)


def outcomes(
    study: Study, results: Results, groups: Iterable[str] | None = None
) -> tuple[list[Outcome], int]:
    """The outcomes that are there, and how many are missing."""
    found, missing = [], 0
    for group in study.groups if groups is None else groups:
        for unit in study.units(group):
            known = not unit.planned or results.measured_file(unit.preset, unit.partition).exists()
            key = key_of(study, results, unit) if known else ""
            outcome = results.find(key, unit) if key else None
            if outcome is not None:
                found.append(outcome)
            else:
                missing += 1
    return found, missing


def _measured(
    study: Study,
    results: Results,
    unit: Unit,
    workers: int,
    data_dir: Path | None,
    view: View,
) -> None:
    """Measure the constants of the unit's partition on the tuning seed, unless they are there."""
    path = results.measured_file(unit.preset, unit.partition)
    if path.exists():
        return
    _check_data(study, data_dir)
    tuning = study.unit(unit.partition, "fedasync", study.tuning_seed)
    measured = measure(
        tuning.scenario(),
        probes=study.probes,
        workers=workers,
        data_dir=data_dir,
        watcher=view.measuring(tuning),
    )
    write_measured(measured, path)


def _check_data(study: Study, data_dir: Path | None) -> None:
    """Refuse data sets that are too small for the study: the embedded samples are."""
    for name, wanted in study.data_sizes.items():
        found = len(find(name, data_dir).x_train)
        if found < wanted:
            raise bad_input(
                f"data set {name}",
                f"must have {wanted:,} training samples for the study",
                ShownAsIs(f"{found:,}"),
                f"Get it with `dmafl data fetch {name}`, or name its folder with --data-dir.",
            )
