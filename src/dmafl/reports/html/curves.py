"""Accuracy and loss against aggregations, time and energy: every seed, their mean with its interval, the front."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmafl.base.statistics import interval
from dmafl.reports.html.rounding import shorts
from dmafl.reports.html.run_set import RunSet
from dmafl.simulation.periods import Metrics

AXES = ("aggregation", "time_s", "energy_J")
VALUES = ("accuracy", "loss")
MAX_POINTS = 150
"""Of one curve in the page."""
SHORT_TABLE = 40


def curves(run_set: RunSet) -> list[dict[str, Any]]:
    """One entry per scheme and task with tests: its seeds, and their mean at each test that all of them have."""
    entries = []
    for scheme in range(len(run_set.schemes)):
        for task in range(len(run_set.tasks)):
            of_seeds = {
                seed: tests
                for seed in run_set.seeds_of(scheme)
                if len((tests := run_set.tests(scheme, task, seed))["aggregation"])
            }
            if of_seeds:
                entries.append(
                    {
                        "scheme": scheme,
                        "task": task,
                        "seeds": {
                            str(seed): {name: shorts(thin(tests[name])) for name in (*AXES, *VALUES)}
                            for seed, tests in of_seeds.items()
                        },
                        "mean": _mean(list(of_seeds.values())),
                    }
                )
    return entries


def front(entries: list[dict[str, Any]], task: int) -> dict[str, list[Any]]:
    """The quality-energy front of a task: tests (means over seeds) that no other test beats with less energy."""
    points = [
        (energy, accuracy, curve["scheme"], aggregation)
        for curve in entries
        if curve["task"] == task
        for energy, accuracy, aggregation in zip(
            *(curve["mean"][name] for name in ("energy_J", "accuracy", "aggregation")), strict=True
        )
        if energy is not None and accuracy is not None and aggregation
    ]
    best: list[tuple[float, float, int, float]] = []
    for point in sorted(points, key=lambda point: (point[0], -point[1])):
        if not best or point[1] > best[-1][1]:
            best.append(point)
    names = ("energy_J", "accuracy", "scheme", "aggregation")
    return {name: [point[place] for point in best] for place, name in enumerate(names)}


def rows(run_set: RunSet, entries: list[dict[str, Any]]) -> list[list[Any]]:
    """The means as rows of a table: task, scheme, aggregation, time, energy, accuracy, its half width, loss."""
    lines = []
    for curve in sorted(entries, key=lambda entry: entry["task"]):
        mean = curve["mean"]
        count = len(mean["aggregation"])
        for k in sorted({*range(0, count, max(1, count // SHORT_TABLE)), count - 1}):
            low, high = mean["accuracy_low"][k], mean["accuracy_high"][k]
            half = None if low is None or high is None else (high - low) / 2
            lines.append(
                [
                    run_set.tasks[curve["task"]],
                    run_set.schemes[curve["scheme"]],
                    *(mean[name][k] for name in (*AXES, "accuracy")),
                    half,
                    mean["loss"][k],
                ]
            )
    return lines


def _mean(of_seeds: list[Metrics]) -> dict[str, list[Any]]:
    shortest = min(len(tests["aggregation"]) for tests in of_seeds)
    stacked = {
        name: np.stack([thin(tests[name][:shortest]) for tests in of_seeds], axis=1)
        for name in (*AXES, *VALUES)
    }
    mean = {name: shorts(column.mean(axis=1)) for name, column in stacked.items()}
    for name in VALUES:
        intervals = [interval(row) for row in stacked[name]]
        mean[f"{name}_low"] = shorts([at.low for at in intervals])
        mean[f"{name}_high"] = shorts([at.high for at in intervals])
    return mean


def thin(values: Any) -> Any:
    """At most `MAX_POINTS` of them, evenly, the first and the last among them."""
    if len(values) <= MAX_POINTS:
        return values
    return values[np.linspace(0, len(values) - 1, MAX_POINTS).round().astype(int)]
