"""What came out differently: accuracy, and energy to the same accuracy, second run against first."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log

import numpy as np

from dmafl.base.statistics import Interval, interval, paired, unpaired
from dmafl.experiments.compare.curves import CurvesBySeed


@dataclass(frozen=True)
class Effect:
    """A scheme and task of the second run beside one of the first."""

    task: str
    first: str
    second: str
    """Names of the schemes."""
    pairs: int
    """Seeds that both have; 0: none, and the means of both are compared."""
    mean_accuracy: Interval
    """Difference of accuracy, mean over the aggregations that both have."""
    final_accuracy: Interval
    """Difference of accuracy at the end."""
    log_energy_ratio: Interval
    """Logarithm of the energy to the same accuracy, second over first."""
    target: float
    """That accuracy, mean over pairs: the lower one of those that both end with."""
    not_reached: int
    """Runs that never reach it, counted with the energy of the whole run."""
    at_chance: tuple[str, ...] = ()
    """Schemes that are no better than always naming the commonest class: then there is no ratio."""

    @property
    def energy_ratio(self) -> tuple[float, float, float]:
        """Energy to the same accuracy, second over first: geometric mean, lower and upper end."""
        log_ratio = self.log_energy_ratio
        return exp(log_ratio.mean), exp(log_ratio.low), exp(log_ratio.high)


def effect(task: str, first: str, second: str, a: CurvesBySeed, b: CurvesBySeed) -> Effect:
    """Compare the curves of `a` and `b`: paired where seeds are common, by their means if none is."""
    common = sorted(a.keys() & b.keys())
    return _paired(task, first, second, a, b, common) if common else _unpaired(task, first, second, a, b)


def _paired(
    task: str, first: str, second: str, a: CurvesBySeed, b: CurvesBySeed, common: list[int]
) -> Effect:
    until = {seed: min(a[seed].last, b[seed].last) for seed in common}
    means_b, means_a = ({seed: curves[seed].mean(until[seed]) for seed in common} for curves in (b, a))
    finals_b, finals_a = ({seed: curves[seed].final for seed in common} for curves in (b, a))
    targets = {seed: min(a[seed].final, b[seed].final) for seed in common}
    ratios, missed = [], 0
    for seed in common:
        spent, before = (curve.to(targets[seed]) for curve in (b[seed], a[seed]))
        missed += spent.missed + before.missed
        # An accuracy that the first model has costs nothing, and has no ratio.
        if spent.straight > 0 and before.straight > 0:
            ratios.append(log(spent.straight / before.straight))
    return Effect(
        task,
        first,
        second,
        len(common),
        paired(means_b, means_a),
        paired(finals_b, finals_a),
        interval(ratios),
        float(np.mean(list(targets.values()))),
        missed,
    )


def _unpaired(task: str, first: str, second: str, a: CurvesBySeed, b: CurvesBySeed) -> Effect:
    until = min(curve.last for curves in (a, b) for curve in curves.values())
    means_b, means_a = ([curve.mean(until) for curve in curves.values()] for curves in (b, a))
    finals_b, finals_a = ([curve.final for curve in curves.values()] for curves in (b, a))
    target = min(float(np.mean(finals_b)), float(np.mean(finals_a)))
    spent_b, spent_a = ([curve.to(target) for curve in curves.values()] for curves in (b, a))
    logs_b, logs_a = (
        [log(energy_J.straight) for energy_J in spent if energy_J.straight > 0]
        for spent in (spent_b, spent_a)
    )
    missed = sum(energy_J.missed for energy_J in [*spent_b, *spent_a])
    return Effect(
        task,
        first,
        second,
        0,
        unpaired(means_b, means_a),
        unpaired(finals_b, finals_a),
        unpaired(logs_b, logs_a),
        target,
        missed,
    )
