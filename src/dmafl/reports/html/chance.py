"""What accuracy each task of a page gives away."""

from __future__ import annotations

from dmafl.experiments.compare.chance import Chance, chance, shares_of
from dmafl.reports.html.run_set import RunSet


def chances(run_set: RunSet) -> list[Chance]:
    """Of each task; with several runs the easiest one counts."""
    metrics = run_set.metrics
    found = []
    for task, name in enumerate(run_set.tasks):
        of_task = metrics["task"] == task
        untrained = metrics["accuracy"][of_task & (metrics["aggregation"] == 0)]
        found.append(chance(shares_of(run_set.runs, name), untrained, metrics["test_samples"][of_task]))
    return found
