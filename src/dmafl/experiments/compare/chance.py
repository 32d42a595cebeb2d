"""Which models are no better than always naming the commonest class: what they cost is compared with nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import nan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dmafl.base.files import columns_of
from dmafl.base.statistics import Interval
from dmafl.experiments.compare.curves import CurvesBySeed
from dmafl.experiments.compare.effects import Effect
from dmafl.experiments.run.run import Run

QUANTILE = 1.645
"""Of the normal distribution, 95%: a share of right answers above the chance by less may be luck."""


class Chance(NamedTuple):
    """What accuracy a task gives away."""

    accuracy: float
    """Of always naming the commonest class; of the untrained model where a run does not say that."""
    known: bool
    """Whether the run says the share of the commonest class."""
    least: float
    """An accuracy above this is better than chance, as far as so many test samples can tell."""

    @property
    def words(self) -> str:
        """What it is, with its accuracy."""
        what = "always naming the commonest class" if self.known else "the untrained model"
        return f"{what} ({100 * self.accuracy:.1f}%)"


def chance(shares: Sequence[float], untrained: ArrayLike, test_samples: ArrayLike) -> Chance:
    """Of a task: from shares of its commonest class, or accuracies of untrained models; the easiest one counts."""
    if shares:
        accuracy = max(shares)
    else:
        before = np.nan_to_num(np.asarray(untrained, dtype=float))
        accuracy = float(np.clip(before.max(initial=0.0), 0.0, 1.0))
    samples = np.asarray(test_samples, dtype=float)
    fewest = max(1.0, float(samples.min())) if len(samples) else 1.0
    return Chance(accuracy, bool(shares), accuracy + QUANTILE * sqrt(accuracy * (1 - accuracy) / fewest))


def shares_of(runs: Sequence[Run], task: str) -> list[float]:
    """Shares of the commonest class of a task, as far as runs say them."""
    return [
        data.commonest_share
        for run in runs
        for name, data in run.manifest.data.items()
        if name == task and data.commonest_share is not None
    ]


def chance_of(runs: Sequence[Run], task: str) -> Chance:
    """Of a task that all of `runs` have."""
    untrained: list[float] = []
    samples: list[float] = []
    for run in dict.fromkeys(runs):
        columns = columns_of(run.metrics.select(["task", "aggregation", "accuracy", "test_samples"]))
        of_task = columns["task"] == task
        untrained += columns["accuracy"][of_task & (columns["aggregation"] == 0)].tolist()
        samples += columns["test_samples"][of_task].tolist()
    return chance(shares_of(runs, task), untrained, samples)


def without_ratio_at_chance(found: Effect, first: CurvesBySeed, second: CurvesBySeed, of: Chance) -> Effect:
    """An effect whose energies are not compared if either model ends no better than chance."""
    weak = tuple(
        dict.fromkeys(
            scheme
            for scheme, curves in ((found.first, first), (found.second, second))
            if not float(np.mean([curve.final for curve in curves.values()])) > of.least
        )
    )
    return replace(found, log_energy_ratio=Interval(nan, nan, 0), at_chance=weak) if weak else found
