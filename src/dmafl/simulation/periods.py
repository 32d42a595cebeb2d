"""Rows of a run as columns: selections by scheme, seed and task, and which local periods the server took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from dmafl.base.files import columns_of
from dmafl.simulation.records import DIVERGED, TAKEN
from dmafl.simulation.run_name import RunName

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Rows:
    """A table of a run as one array per column; all arrays have one entry per row."""

    columns: Mapping[str, Array]

    @classmethod
    def of_table(cls, table: Any) -> Self:
        """From `metrics` or `periods` as a run has them."""
        return cls(columns_of(table))

    def __getitem__(self, column: str) -> Array:
        return self.columns[column]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def where(self, chosen: Array) -> Self:
        """Only the chosen rows: their numbers, or whether each row is among them."""
        return type(self)({name: values[chosen] for name, values in self.columns.items()})

    def of(self, name: RunName) -> Self:
        """The rows of the run of a scheme and seed."""
        return self.where((self["scheme"] == name.scheme) & (self["seed"] == name.seed))

    def of_task(self, task: object) -> Self:
        """The rows of a task: its name, or its number where the column has numbers."""
        return self.where(self["task"] == task)


class Metrics(Rows):
    """Tests of global models, one row per test."""


class Periods(Rows):
    """Local periods, one row per period: a download, a computation and an upload, as far as they came."""

    @cached_property
    def taken(self) -> Array:
        """Whether the server took the upload, also one that was not finite and changed nothing."""
        return np.isin(self["outcome"].astype(str), TAKEN)

    @cached_property
    def computed(self) -> Array:
        """Whether the device has computed the job; a computation that was not paid for has the time 0."""
        return np.asarray(self.taken | (self["compute_s"] > 0))

    @cached_property
    def diverged(self) -> Array:
        """Whether the local model was not finite."""
        return np.asarray(self["outcome"] == DIVERGED, dtype=bool)
