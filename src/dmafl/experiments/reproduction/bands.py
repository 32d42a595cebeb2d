"""A curve with its interval, from one curve per seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.base.statistics import interval
from dmafl.experiments.reproduction.study_outcomes import BySeed

POINTS = 60


@dataclass(frozen=True, eq=False)
class Band:
    """Mean over seeds at each x, and the ends of its interval (nan with one seed). Arrays (points,).

    Intervals of curves are cut to what their numbers can be: with two seeds they are wider than that.
    """

    x: FloatArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray


def over_aggregations(by_seed: BySeed, column: str = "accuracy") -> Band | None:
    """A column of the curves at equal numbers of aggregations."""
    curves = [(run.curve["aggregation"], run.curve[column]) for run in by_seed.values() if run.curve]
    if not curves:
        return None
    last = min(float(x[-1]) for x, _ in curves)
    grid = np.unique(np.linspace(0.0, last, POINTS).round())
    return _band(grid, curves, 1.0 if column == "accuracy" else inf)


def over_energy(by_seed: BySeed) -> Band | None:
    """Accuracy at equal energies, from one aggregation of every seed to where the first seed ends.

    Before the first test, too, accuracy goes straight over energy, as it does in energies to a target.
    """
    runs = [run for run in by_seed.values() if run.curve and run.energy_J[-1] > 0]
    if not runs:
        return None
    curves = [(run.energy_J, run.curve["accuracy"]) for run in runs]
    first = max(float(np.interp(1.0, run.curve["aggregation"], run.energy_J)) for run in runs)
    last = min(float(x[-1]) for x, _ in curves)
    if not 0 < first <= last:
        return None
    grid = np.geomspace(first, last, POINTS)
    grid[0], grid[-1] = first, last
    return _band(grid, curves, 1.0)


def over_values(values: Sequence[float], of_values: Sequence[Sequence[float]]) -> Band:
    """Numbers of several seeds at each of `values`; those without any are left out."""
    effects = [(x, interval(numbers)) for x, numbers in zip(values, of_values, strict=True) if len(numbers)]
    rows = [[x, effect.mean, effect.low, effect.high] for x, effect in effects]
    table = np.asarray(rows, dtype=np.float64).reshape(-1, 4)
    return Band(table[:, 0], table[:, 1], table[:, 2], table[:, 3])


def _band(grid: FloatArray, curves: list[tuple[FloatArray, FloatArray]], most: float) -> Band:
    """The band of curves between 0 and `most`."""
    values = np.stack([np.interp(grid, x, y) for x, y in curves], axis=1)
    intervals = [interval(row) for row in values]
    return Band(
        grid,
        values.mean(axis=1),
        np.clip([at.low for at in intervals], 0.0, most),
        np.clip([at.high for at in intervals], 0.0, most),
    )
