"""The outcome of a run of the study: totals and a curve of every task, each checked when it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.experiments.reproduction.study_run import StudyRun

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
"""Totals of a task; staleness is the mean."""
DIVERGED = "diverged"
"""One more total, of tasks that had any: local models that were not finite and changed nothing."""


@dataclass(frozen=True)
class TaskOutcome:
    """The outcome of one task."""

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
    """The outcome of a run of the study."""

    study_run: StudyRun
    tasks: Mapping[str, TaskOutcome]
    about: Mapping[str, Any] = field(default_factory=dict)
    """Versions and checksums of the data that it was made with."""


def curve_of(columns: Mapping[str, Any], trained: bool) -> dict[str, FloatArray]:
    """Columns as arrays: all of `CURVE` and as long as each other, or none where nothing was trained."""
    curve = {name: np.asarray(columns[name], dtype=np.float64) for name in (CURVE if trained else ())}
    if len({column.shape for column in curve.values()}) > 1 or any(
        column.ndim != 1 or not len(column) for column in curve.values()
    ):
        raise ValueError("columns of different lengths, or empty")
    for name, column in curve.items():
        if not (np.isfinite(column).all() and (column >= 0).all()):
            raise ValueError(f"{name} is not finite, or below 0")
        if name in GROWING and (np.diff(column) < 0).any():
            raise ValueError(f"{name} falls from one test to the next")
    if curve and curve["accuracy"].max() > 1:
        raise ValueError("an accuracy above 1")
    return curve


def totals_of(given: Mapping[str, Any]) -> dict[str, float]:
    """Totals as numbers; idle times are differences, which rounding may put a little below 0."""
    totals = {name: float(given[name]) for name in TOTALS}
    for name, value in totals.items():
        if not np.isfinite(value) or (value < 0 and name != "idle_s"):
            raise ValueError(f"{name} is {value}")
    return totals


def thinned(values: Any) -> list[float]:
    """Six digits are enough for figures and intervals."""
    return [float(f"{value:.6g}") for value in np.asarray(values, dtype=np.float64)]
