"""A sweep's table summed up: means over seeds with intervals, and which points no other point beats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dmafl.base.statistics import Interval, interval
from dmafl.experiments.sweep.outcome import NUMBERS


@dataclass(frozen=True)
class Group:
    """The rows of one combination of settings and one task, over seeds."""

    settings: tuple[Any, ...]
    """In the order of the keys."""
    task: str
    values: dict[str, Interval]
    """By column; n is 0 where there are no numbers."""


def groups(table: Any, keys: Sequence[str]) -> list[Group]:
    """One for every combination of the values of `keys` and every task, in the order of the table.

    Where rows of a seed differ in other keys, the seed counts once, with their mean.
    """
    rows_of: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        rows_of.setdefault((*(row[key] for key in keys), row["task"]), []).append(row)
    return [
        Group(group[:-1], group[-1], {column: _over_seeds(rows, column) for column in NUMBERS})
        for group, rows in rows_of.items()
    ]


def front(energy: ArrayLike, badness: ArrayLike) -> NDArray[np.intp]:
    """Rows that no other row beats in one without losing in the other, by rising energy: the Pareto front."""
    cost, bad = np.asarray(energy, dtype=float), np.asarray(badness, dtype=float)
    order = np.lexsort((bad, cost))
    kept, best = [], np.inf
    for row in order:
        if bad[row] < best:
            kept.append(row)
            best = bad[row]
    return np.asarray(kept, dtype=np.intp)


def _over_seeds(rows: Sequence[dict[str, Any]], name: str) -> Interval:
    by_seed: dict[int, list[float]] = {}
    for row in rows:
        if row[name] is not None:
            by_seed.setdefault(row["seed"], []).append(row[name])
    return interval(float(np.mean(values)) for values in by_seed.values())
