"""Which models are no better than always naming the commonest class: what they cost is compared with nothing."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from dmafl.reports.html.run_set import RunSet

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


def chances(run_set: RunSet) -> list[Chance]:
    """Of each task; with several runs the easiest one counts."""
    return [_chance(run_set, task) for task in range(len(run_set.tasks))]


def _chance(run_set: RunSet, task: int) -> Chance:
    shares = [
        data.commonest_share
        for run in run_set.runs
        for name, data in run.manifest.data.items()
        if name == run_set.tasks[task] and data.commonest_share is not None
    ]
    metrics = run_set.metrics
    of_task = metrics["task"] == task
    if shares:
        accuracy = max(shares)
    else:
        untrained = metrics["accuracy"][of_task & (metrics["aggregation"] == 0)].astype(float)
        accuracy = float(np.clip(np.nan_to_num(untrained).max(initial=0.0), 0.0, 1.0))
    samples = metrics["test_samples"][of_task].astype(float)
    fewest = max(1.0, float(samples.min())) if len(samples) else 1.0
    return Chance(accuracy, bool(shares), accuracy + QUANTILE * sqrt(accuracy * (1 - accuracy) / fewest))
