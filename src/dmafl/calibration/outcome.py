"""The outcome of a probe, as it is cached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dmafl.theory.tested_jobs import TestedJobs


@dataclass(frozen=True)
class Outcome:
    """Loss and accuracy of a probe after some of its slots; none where its numbers were not finite."""

    slots: tuple[int, ...]
    """Numbers of slots after which it was tested."""
    losses: tuple[float, ...]
    accuracies: tuple[float, ...]
    cpu_s: float
    """CPU time that it took [s]."""

    @classmethod
    def of(cls, run: TestedJobs, cpu_s: float) -> Outcome:
        """The outcome of a run."""
        return cls(
            tuple(run.slots.tolist()), tuple(run.losses.tolist()), tuple(run.accuracies.tolist()), cpu_s
        )

    @property
    def finite(self) -> bool:
        """Whether all its numbers were finite."""
        return bool(self.slots)

    def plain(self) -> dict[str, Any]:
        """As plain values, for a file."""
        return asdict(self)

    @classmethod
    def from_plain(cls, given: Any) -> Outcome | None:
        """From a file's values; None if they are not an outcome."""
        if not isinstance(given, Mapping) or set(given) != {"slots", "losses", "accuracies", "cpu_s"}:
            return None
        columns = [given[name] for name in ("slots", "losses", "accuracies")]
        if not all(isinstance(column, list) and len(column) == len(columns[0]) for column in columns):
            return None
        slots, *numbers = columns
        whole = all(isinstance(k, int) and not isinstance(k, bool) and k >= 1 for k in slots)
        values = [value for column in numbers for value in column] + [given["cpu_s"]]
        if not whole or not all(isinstance(value, float) and np.isfinite(value) for value in values):
            return None
        return cls(tuple(slots), tuple(columns[1]), tuple(columns[2]), given["cpu_s"])
