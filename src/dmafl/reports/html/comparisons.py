"""Who wins by how much: final accuracies, and every scheme held against every other, paired by seed."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import Any, NamedTuple

from dmafl.base.statistics import Interval, interval
from dmafl.experiments.compare.curves import Curve
from dmafl.experiments.compare.effects import Effect, effect
from dmafl.reports.html.rounding import shorts
from dmafl.reports.html.run_set import RunSet
from dmafl.schemes.registry import NAMES, scheme_named


class Pair(NamedTuple):
    """Scheme `a` beside scheme `b` on one task."""

    task: int
    a: int
    b: int
    """Places of task and schemes in the lists of the page."""
    effect: Effect
    """Of `a` against `b`."""

    @property
    def times(self) -> tuple[float, float, float]:
        """How many times less energy `a` needs for the accuracy both reach: geometric mean, lower and upper end."""
        log_ratio = self.effect.log_energy_ratio
        return exp(-log_ratio.mean), exp(-log_ratio.high), exp(-log_ratio.low)

    def plain(self) -> dict[str, Any]:
        """As values for JSON."""
        points = self.effect.final_accuracy
        return {
            "task": self.task,
            "a": self.a,
            "b": self.b,
            "accuracy": shorts([points.mean, points.low, points.high], 4),
            "times": shorts(self.times, 4),
        }


@dataclass(frozen=True)
class Comparisons:
    """Final accuracies, and every scheme against every other."""

    final: dict[tuple[int, int], Interval]
    """(scheme, task) -> accuracy at the last test, over seeds; only of what has been tested."""
    pairs: tuple[Pair, ...]

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
        key: interval(curve.final for curve in of_seeds.values())
        for key, of_seeds in curves.items()
        if of_seeds
    }
    pairs = [
        Pair(task, a, b, effect(run_set.tasks[task], run_set.schemes[b], run_set.schemes[a], *of))
        for task in tasks
        for a in schemes
        for b in schemes
        if a != b and all(of := (curves[b, task], curves[a, task]))
    ]
    return Comparisons(final, tuple(pairs))


def chosen_first(run_set: RunSet, comparisons: Comparisons) -> int:
    """The scheme of interest: a planned one if there is one, else the one that wins most tasks."""
    for name in NAMES:
        for number in (number for number, known in enumerate(run_set.scheme_names) if known == name):
            scheme = scheme_named(name)
            if scheme.group != "baseline" and not scheme.ablation:
                return number
    wins = [ranking[0] for task in range(len(run_set.tasks)) if (ranking := comparisons.ranking(task))]
    return max(set(wins), key=wins.count) if wins else 0


def _curves(run_set: RunSet, scheme: int, task: int) -> dict[int, Curve]:
    """Seed -> curve."""
    curves = {}
    for seed in run_set.seeds_of(scheme):
        tests = run_set.tests(scheme, task, seed)
        if tests["aggregation"].max(initial=0) > 0:
            curves[seed] = Curve(
                *(tests[name].astype(float) for name in ("aggregation", "accuracy", "energy_J"))
            )
    return curves
