"""Who wins by how much: final accuracies, and every scheme held against every other, paired by seed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, nan
from typing import Any, NamedTuple

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.base.statistics import Interval, interval
from dmafl.experiments.compare.chance import Chance
from dmafl.experiments.compare.curves import Curve
from dmafl.experiments.compare.effects import Effect, effect
from dmafl.reports.html.chance import chances
from dmafl.reports.html.rounding import shorts
from dmafl.reports.html.run_set import RunSet
from dmafl.schemes.registry import NAMES, scheme_named


class Tests(NamedTuple):
    """Every test of a scheme, seed and task, in order."""

    aggregation: FloatArray
    accuracy: FloatArray
    energy_J: FloatArray
    time_s: FloatArray

    def over_energy(self) -> Curve:
        """What accuracy was had for what energy."""
        return Curve(self.aggregation, self.accuracy, self.energy_J)

    def over_time(self) -> Curve:
        """The same with time in the place of energy."""
        return Curve(self.aggregation, self.accuracy, self.time_s)


class Times(NamedTuple):
    """A ratio: geometric mean over seeds, lower and upper end; nan where there is none."""

    mean: float
    low: float
    high: float
    sure: bool
    """Whether its interval leaves out 1; never with one seed."""


class Pair(NamedTuple):
    """Scheme `a` beside scheme `b` on one task."""

    task: int
    a: int
    b: int
    """Places of task and schemes in the lists of the page."""
    effect: Effect
    """Of `a` against `b`."""
    time: Effect
    """The same with time in the place of energy."""
    no_better: tuple[int, ...]
    """Which of both are no better than chance: then there are no ratios."""

    @property
    def energy_times(self) -> Times:
        """How many times less energy `a` needs for the accuracy both reach."""
        return _times(None if self.no_better else self.effect.log_energy_ratio)

    @property
    def time_times(self) -> Times:
        """How many times less time `a` needs for the accuracy both reach."""
        return _times(None if self.no_better else self.time.log_energy_ratio)

    def plain(self) -> dict[str, Any]:
        """As values for JSON."""
        points = self.effect.final_accuracy
        return {
            "task": self.task,
            "a": self.a,
            "b": self.b,
            "accuracy": shorts([points.mean, points.low, points.high], 4),
            "energy": shorts(self.energy_times[:3], 4),
            "time": shorts(self.time_times[:3], 4),
            "no_better": list(self.no_better),
        }


@dataclass(frozen=True)
class Comparisons:
    """Final accuracies with what they cost, and every scheme against every other."""

    final: dict[tuple[int, int], Interval]
    """(scheme, task) -> accuracy at the last test, over seeds; only of what has been tested."""
    energy_J: dict[tuple[int, int], float]
    """Spent until then, mean over seeds."""
    time_s: dict[tuple[int, int], float]
    pairs: tuple[Pair, ...]
    chances: tuple[Chance, ...]
    """Of each task."""

    def no_better(self, scheme: int, task: int) -> bool:
        """Whether the models of a scheme end no better than chance."""
        return not self.final[scheme, task].mean > self.chances[task].least

    def ranking(self, task: int) -> list[int]:
        """Schemes by mean final accuracy, best first."""
        there = [scheme for scheme, of in self.final if of == task]
        return sorted(there, key=lambda scheme: -self.final[scheme, task].mean)

    def pair(self, task: int, a: int, b: int) -> Pair | None:
        """Two schemes on a task, if both have been tested."""
        return next((pair for pair in self.pairs if (pair.task, pair.a, pair.b) == (task, a, b)), None)


def compare_schemes(run_set: RunSet) -> Comparisons:
    """Compare all schemes on all tasks, as far as they have been tested after their first aggregation."""
    tasks, schemes = range(len(run_set.tasks)), range(len(run_set.schemes))
    curves = {(scheme, task): _curves(run_set, scheme, task) for scheme in schemes for task in tasks}
    final = {
        key: interval(tests.accuracy[-1] for tests in of_seeds.values())
        for key, of_seeds in curves.items()
        if of_seeds
    }
    energy_J, time_s = (
        {key: float(np.mean([getattr(curves[key][seed], name)[-1] for seed in curves[key]])) for key in final}
        for name in ("energy_J", "time_s")
    )
    compared = Comparisons(final, energy_J, time_s, (), tuple(chances(run_set)))
    pairs = [
        _pair(run_set, compared, task, a, b, curves)
        for task in tasks
        for a in schemes
        for b in schemes
        if a != b and curves[a, task] and curves[b, task]
    ]
    return replace(compared, pairs=tuple(pairs))


def _pair(
    run_set: RunSet,
    compared: Comparisons,
    task: int,
    a: int,
    b: int,
    curves: dict[tuple[int, int], dict[int, Tests]],
) -> Pair:
    names = run_set.tasks[task], run_set.schemes[b], run_set.schemes[a]
    energy, time = (
        effect(
            *names, *({seed: of(tests) for seed, tests in curves[scheme, task].items()} for scheme in (b, a))
        )
        for of in (Tests.over_energy, Tests.over_time)
    )
    weak = tuple(scheme for scheme in (a, b) if compared.no_better(scheme, task))
    return Pair(task, a, b, energy, time, weak)


def _times(log_ratio: Interval | None) -> Times:
    """The ratio the other way round, from its logarithm."""
    if log_ratio is None:
        return Times(nan, nan, nan, False)
    return Times(exp(-log_ratio.mean), exp(-log_ratio.high), exp(-log_ratio.low), log_ratio.excludes_zero)


def chosen_first(run_set: RunSet, comparisons: Comparisons) -> int:
    """The scheme of interest: a planned one if there is one, else the one that wins most tasks."""
    for name in NAMES:
        for number in (number for number, known in enumerate(run_set.scheme_names) if known == name):
            scheme = scheme_named(name)
            if scheme.group != "baseline" and not scheme.ablation:
                return number
    wins = [ranking[0] for task in range(len(run_set.tasks)) if (ranking := comparisons.ranking(task))]
    return max(set(wins), key=wins.count) if wins else 0


def _curves(run_set: RunSet, scheme: int, task: int) -> dict[int, Tests]:
    """Seed -> curve."""
    curves = {}
    for seed in run_set.seeds_of(scheme):
        tests = run_set.tests(scheme, task, seed)
        if tests["aggregation"].max(initial=0) > 0:
            names = ("aggregation", "accuracy", "energy_J", "time_s")
            curves[seed] = Tests(*(tests[name].astype(float) for name in names))
    return curves
