"""The accuracy curve of one scheme, seed and task, as comparisons see it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.base.files import columns_of
from dmafl.base.statistics import Reached, mean_over_aggregations, spent_to
from dmafl.experiments.run.run import Run


@dataclass(frozen=True, eq=False)
class Curve:
    """Every test of a scheme, seed and task, in order."""

    aggregation: FloatArray
    accuracy: FloatArray
    energy_J: FloatArray

    @property
    def last(self) -> float:
        """Aggregations at the last test."""
        return float(self.aggregation[-1])

    @property
    def final(self) -> float:
        """Accuracy at the last test."""
        return float(self.accuracy[-1])

    def to(self, target: float) -> Reached:
        """Energy until an accuracy is first reached [J]."""
        return spent_to(self.aggregation, self.accuracy, self.energy_J, target)

    def mean(self, until: float) -> float:
        """Mean accuracy over the aggregations up to `until`."""
        before = self.aggregation < until
        at = float(np.interp(until, self.aggregation, self.accuracy))
        return mean_over_aggregations(
            np.append(self.aggregation[before], until), np.append(self.accuracy[before], at)
        )


CurvesBySeed = dict[int, Curve]
Curves = dict[tuple[str, str], CurvesBySeed]
"""(scheme, task) -> seed -> curve."""


def curves_of(run: Run) -> Curves:
    """All curves of a run, as far as it has come."""
    names = ("scheme", "task", "seed", "aggregation", "accuracy", "energy_J")
    columns = columns_of(run.metrics.select(list(names)))
    curves: Curves = {}
    for scheme in dict.fromkeys(columns["scheme"]):
        for task in dict.fromkeys(columns["task"]):
            of_task = (columns["scheme"] == scheme) & (columns["task"] == task)
            for seed in dict.fromkeys(columns["seed"][of_task]):
                rows = of_task & (columns["seed"] == seed)
                curve = Curve(*(columns[name][rows].astype(float) for name in names[3:]))
                curves.setdefault((str(scheme), str(task)), {})[int(seed)] = curve
    return curves
