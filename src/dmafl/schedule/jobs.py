"""The job list: the one representation of a schedule, held in columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.base.showing import counted, line

INTEGER_COLUMNS = ("task", "device", "version", "slot")


@dataclass(frozen=True, eq=False, repr=False)
class Schedule:
    """n jobs: device `device[k]` receives `version[k]` of `task[k]` from `start_s[k]` on and completes `slot[k]`.

    `steps` and `batch` are floats so that a relaxed schedule can be evaluated; rule S7 demands integers.
    """

    task: IntArray
    device: IntArray
    version: IntArray
    slot: IntArray
    steps: FloatArray
    batch: FloatArray
    frequency_Hz: FloatArray
    start_s: FloatArray

    def __post_init__(self) -> None:
        lengths = {getattr(self, field.name).shape for field in fields(self)}
        if len(lengths) != 1 or len(next(iter(lengths))) != 1:
            raise ValueError(f"columns of a schedule must be vectors of one length, got shapes {lengths}")

    def __len__(self) -> int:
        return len(self.task)

    def __repr__(self) -> str:
        many = (len(np.unique(column)) for column in (self.task, self.device))
        return line(
            "Schedule", "{} of {} on {}".format(*map(counted, (len(self), *many), ("job", "task", "device")))
        )

    @classmethod
    def from_columns(cls, columns: Mapping[str, ArrayLike]) -> Schedule:
        """A schedule from its eight columns."""
        typed: dict[str, Any] = {
            field.name: np.ascontiguousarray(
                columns[field.name], dtype=np.int64 if field.name in INTEGER_COLUMNS else np.float64
            )
            for field in fields(cls)
        }
        return cls(**typed)

    @classmethod
    def from_jobs(cls, jobs: Iterable[Mapping[str, Any]]) -> Schedule:
        """A schedule from one mapping per job, for small cases."""
        rows = list(jobs)
        return cls.from_columns({field.name: [row[field.name] for row in rows] for field in fields(cls)})

    def columns(self) -> dict[str, np.ndarray[Any, Any]]:
        """The eight columns by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def take(self, rows: Any) -> Schedule:
        """The jobs at `rows` (indices or a mask), in that order."""
        return Schedule(**{name: column[rows] for name, column in self.columns().items()})

    def rows_of_task(self, task: int) -> IntArray:
        """Rows of the jobs of `task`, in the order of their slots."""
        rows = np.flatnonzero(self.task == task)
        return np.asarray(rows[np.argsort(self.slot[rows], kind="stable")])

    def of_task(self, task: int) -> Schedule:
        """The jobs of `task` in the order of their slots."""
        return self.take(self.rows_of_task(task))

    @property
    def staleness(self) -> IntArray:
        """Slots completed between download and aggregation of each job, g - v. Definition 4."""
        return self.slot - self.version


def realised_staleness(schedule: Schedule, tasks: int) -> IntArray:
    """Largest staleness of each task, K_j (0 where a task has no job). Definition 4."""
    out = np.zeros(tasks, dtype=np.int64)
    np.maximum.at(out, schedule.task, schedule.staleness)
    return out
