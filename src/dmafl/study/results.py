"""Outcomes of runs, thinned to a few kilobytes and kept under the content they follow from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dmafl.errors import BadInput, ShownAsIs, bad_input
from dmafl.files import (
    canonical_json,
    read_bytes,
    read_json,
    say_once,
    sha256_of,
    write_bytes,
    write_text,
)
from dmafl.randomness import FloatArray
from dmafl.study.unit import SCHEMA, Unit

CURVE = (
    "aggregation",
    "time_s",
    "accuracy",
    "loss",
    "energy_J",
    "uplink_J",
    "compute_J",
    "downlink_J",
    "floor_J",
)
"""Columns of a curve. `floor_J` is computing energy had every job run at its device's lowest frequency."""
GROWING = tuple(name for name in CURVE if name not in ("accuracy", "loss"))
"""Columns that never fall from one test to the next."""
TOTALS = (
    "jobs",
    "devices",
    "steps",
    "samples",
    "compute_s",
    "idle_s",
    "staleness",
    "uplink_J",
    "compute_J",
    "downlink_J",
)
"""What a task came to in all; staleness is the mean."""
DIVERGED = "diverged"
"""One more total, of tasks that had any: local models that were not finite and changed nothing."""


@dataclass(frozen=True)
class TaskOutcome:
    """What came of one task."""

    totals: Mapping[str, float]
    curve: Mapping[str, FloatArray]
    """Empty where nothing was trained."""
    diverged: int = 0
    """Local models that were not finite and changed nothing."""

    @property
    def energy_J(self) -> FloatArray:
        """Energy of devices and base station so far, at every test."""
        return self.curve["energy_J"]

    @property
    def floor_energy_J(self) -> FloatArray:
        """The same, had every CPU run at its lowest frequency."""
        return self.curve["energy_J"] - self.curve["compute_J"] + self.curve["floor_J"]

    @property
    def total_J(self) -> float:
        """Energy of all jobs."""
        return sum(self.totals[name] for name in ("uplink_J", "compute_J", "downlink_J"))


@dataclass(frozen=True)
class Outcome:
    """What came of a unit."""

    unit: Unit
    tasks: Mapping[str, TaskOutcome]
    about: Mapping[str, Any] = field(default_factory=dict)
    """Versions and checksums of the data that it was made with."""


AGAIN = "Delete it and run again."


class Results:
    """A folder of outcomes: units/KEY.json; measured/PRESET-PARTITION.json."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def find(self, key: str, unit: Unit) -> Outcome | None:
        """The outcome of `unit`, or None where there is none; a damaged one counts as none, which is said."""
        if not self._file(key).exists():
            return None
        try:
            return self.read(key, unit)
        except BadInput as error:
            say_once(str(error))
            return None

    def read(self, key: str, unit: Unit) -> Outcome:
        """The outcome of `unit`."""
        path = self._file(key)
        found = read_json(path, "outcome", remedy=AGAIN)
        try:
            if (found["schema"], found["key"]) != (SCHEMA, key):
                raise ValueError(f"schema {found['schema']} and key {found['key']}")
            if "sha256" in found and found.pop("sha256") != sha256_of(canonical_json(found)):
                raise ValueError("another content than its checksum says")
            tasks = {
                name: TaskOutcome(
                    _totals(task["totals"]),
                    _curve(task["curve"], unit.trained),
                    int(task["totals"].get(DIVERGED, 0)),
                )
                for name, task in found["tasks"].items()
            }
            if not tasks:
                raise ValueError("no task")
            about = dict(found["about"])
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            rule = f"must be an outcome of the study, with schema {SCHEMA} and key {key}"
            raise bad_input(str(path), rule, ShownAsIs(repr(error)[:100]), AGAIN) from None
        return Outcome(unit, tasks, about)

    def write(self, key: str, unit: Unit, tasks: Mapping[str, Any], about: Mapping[str, Any]) -> None:
        """Keep an outcome. `tasks` has `totals` and `curve` of each."""
        content = {"schema": SCHEMA, "key": key, "unit": unit.plain(), "about": about, "tasks": tasks}
        content["sha256"] = sha256_of(canonical_json(content))
        write_text(self._file(key), json.dumps(content, allow_nan=False, separators=(",", ":")) + "\n")

    def measured_file(self, preset: str, partition: str) -> Path:
        """Where the constants of a partition are."""
        return self.path / "measured" / f"{preset}-{partition}.json"

    def take_constants(self, other: Results) -> None:
        """Take measured constants over from another folder, where there are none yet."""
        for path in sorted((other.path / "measured").glob("*.json")):
            own = self.path / "measured" / path.name
            if not own.exists():
                write_bytes(own, read_bytes(path, "measured constants"))

    def _file(self, key: str) -> Path:
        return self.path / "units" / f"{key}.json"


def _curve(columns: Mapping[str, Any], trained: bool) -> dict[str, FloatArray]:
    """Columns as arrays: all of `CURVE` and as long as each other, or none where nothing was trained."""
    found = {one: np.asarray(columns[one], dtype=np.float64) for one in (CURVE if trained else ())}
    if len({one.shape for one in found.values()}) > 1 or any(
        one.ndim != 1 or not len(one) for one in found.values()
    ):
        raise ValueError("columns of different lengths, or empty")
    for name, column in found.items():
        if not (np.isfinite(column).all() and (column >= 0).all()):
            raise ValueError(f"{name} is not finite, or below 0")
        if name in GROWING and (np.diff(column) < 0).any():
            raise ValueError(f"{name} falls from one test to the next")
    if found and found["accuracy"].max() > 1:
        raise ValueError("an accuracy above 1")
    return found


def _totals(given: Mapping[str, Any]) -> dict[str, float]:
    """Totals as numbers; idle times are differences, which rounding may put a little below 0."""
    found = {name: float(given[name]) for name in TOTALS}
    for name, value in found.items():
        if not np.isfinite(value) or (value < 0 and name != "idle_s"):
            raise ValueError(f"{name} is {value}")
    return found


def thinned(values: Any) -> list[float]:
    """Six digits are enough for figures and intervals."""
    return [float(f"{value:.6g}") for value in np.asarray(values, dtype=np.float64)]
