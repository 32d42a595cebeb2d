"""What a machine can do: seconds, cycles and joules of an SGD step of each task, measured on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from dmafl.base.showing import Rows, html_of, line, names
from dmafl.machine.device_row import write_row


@dataclass(frozen=True)
class Spread:
    """The median of repeated measurements, and the quarter and three quarters of them that lie below an end."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> Self:
        """Of one value or more."""
        low, median, high = np.quantile(values, (0.25, 0.5, 0.75)).tolist()
        return cls(median, low, high)


@dataclass(frozen=True)
class TaskProfile:
    """Training of one task on this machine."""

    task: str
    model: str
    parameters: int
    batch: int
    steps: int
    """Of one repeat, which trains like one job."""
    repeats: int
    step_s: Spread
    """Seconds of an SGD step, by the clock on the wall."""
    cpu_share: float
    """Share of that time in which the process had a core; below 1 the machine was busy with other work."""
    cycles_per_sample: float | None
    """CPU time of a sample times the clock; None where the clock is not known."""
    step_J: float | None
    """Energy of a step, of all that the meter sees; None where nothing measured it."""

    @property
    def samples_per_s(self) -> float:
        """Samples that are trained on in a second."""
        return self.batch / self.step_s.median


@dataclass(frozen=True)
class Profile:
    """One machine, and the row that it is in a device table."""

    name: str
    tasks: tuple[TaskProfile, ...]
    frequency_Hz: float | None
    """The clock while it trained."""
    clock_source: str
    """Where the clock is known from, or why it is not."""
    energy_source: str
    """What measured the joules; `none` and the reason where nothing did."""

    @property
    def capacitance_Js2(self) -> float | None:
        """Energy of a cycle over the clock squared; None without clock or joules."""
        parts = [
            (task.step_J, task.cycles_per_sample * task.batch)
            for task in self.tasks
            if task.step_J is not None and task.cycles_per_sample is not None
        ]
        if not parts or self.frequency_Hz is None:
            return None
        energy_J = sum(joules for joules, _ in parts)
        cycles = sum(cycles for _, cycles in parts)
        return energy_J / cycles / self.frequency_Hz**2

    @property
    def row(self) -> dict[str, Any]:
        """The columns of a device table that were measured, by name."""
        measured = {
            "id": self.name,
            "frequency_max_Hz": self.frequency_Hz,
            "capacitance_Js2": self.capacitance_Js2,
            **{f"cycles_per_sample.{task.task}": task.cycles_per_sample for task in self.tasks},
        }
        return {column: value for column, value in measured.items() if value is not None}

    def write(self, path: str | Path, more: Mapping[str, float] | None = None) -> list[str]:
        """Put the row into the device table `path`, a CSV file; `more` has values of other columns.

        The row with this name is brought up to date, or a new one added. Gives the columns that were measured and not
        written, since other rows have no value of them.
        """
        return write_row(Path(path), self.row, more or {}, [task.task for task in self.tasks])

    def table(self) -> Rows:
        """One row per task."""
        rows = [
            {
                "task": task.task,
                "model": task.model,
                "batch": task.batch,
                "step_s": task.step_s.median,
                "samples_per_s": task.samples_per_s,
                "cycles_per_sample": task.cycles_per_sample,
                "step_J": task.step_J,
            }
            for task in self.tasks
        ]
        return Rows.of(f"Profile of {self.name}", rows)

    def _in_short(self) -> str:
        return f"{self.name}, {names([task.task for task in self.tasks])}, energy: {self.energy_source}"

    def __repr__(self) -> str:
        return line("Profile", self._in_short())

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return html_of(f"Profile: {self._in_short()}", self.table())
