"""The outcome of a rule of a schedule, and the tolerance that all rules share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import BoolArray, FloatArray, IntArray

TOLERANCE = 1e-9
"""Relative tolerance of every comparison of times, frequencies and energies: a million roundings of float64 stay
below it, and no physical quantity is that exact. Times are relative to the end of the schedule, frequencies to f^max,
energies to E^B."""


def exceeds(
    excess: FloatArray | IntArray | float, tolerance: FloatArray | IntArray | float = 0.0
) -> BoolArray:
    """Where `excess` is not at most `tolerance`; NaN always exceeds it."""
    return np.asarray(~(np.asarray(excess) <= tolerance), dtype=bool)


@dataclass(frozen=True)
class Check:
    """The outcome of one rule: by how much it is violated at the worst place, or 0 where it holds."""

    name: str
    rule: str
    violation: float
    unit: str
    places: int
    worst: str
    remedy: str
    note: str = ""
    """A remark for the user that is not a violation."""

    @property
    def ok(self) -> bool:
        """Whether the rule holds."""
        return self.places == 0

    def __str__(self) -> str:
        if self.ok:
            return f"{self.name}: ok"
        more = f" and {self.places - 1:,} more" if self.places > 1 else ""
        return (
            f"{self.name}: {self.rule}; violated by {self.violation:.6g} {self.unit} "
            f"at {self.worst}{more}. {self.remedy}"
        )


def worst_check(
    name: str,
    rule: str,
    excess: FloatArray | IntArray,
    broken: BoolArray,
    unit: str,
    place: Callable[[int], str],
    remedy: str,
) -> Check:
    """The check of a rule from the excess at every place; `place` describes a place in words."""
    places = int(np.count_nonzero(broken))
    if not places:
        return Check(name, rule, 0.0, unit, 0, "", "")
    k = int(np.argmax(np.where(broken, excess, -np.inf)))  # the first NaN, if there is one
    return Check(name, rule, float(excess[k]), unit, places, place(k), remedy)
