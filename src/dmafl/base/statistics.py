"""Means with their t-intervals, differences paired by seed, and figures of one accuracy curve."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isnan, nan, sqrt

import numpy as np
from numpy.typing import ArrayLike

LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """A mean over `n` values and half the width of its interval; the half is nan where `n` is below 2."""

    mean: float
    half: float
    n: int

    @property
    def low(self) -> float:
        """Lower end."""
        return self.mean - self.half

    @property
    def high(self) -> float:
        """Upper end."""
        return self.mean + self.half

    @property
    def excludes_zero(self) -> bool:
        """Whether the whole interval lies on one side of zero; never without a width."""
        return not isnan(self.half) and (self.low > 0 or self.high < 0)


def interval(values: Iterable[float], level: float = LEVEL) -> Interval:
    """Mean of `values` with the t-interval of that level. One value has no width, none has no mean."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1; got {level!r}")
    found = np.asarray(list(values), dtype=float)
    n = len(found)
    if n < 2:
        return Interval(float(found[0]) if n else nan, nan, n)
    from scipy.special import stdtrit  # Student's quantile, without the slow import of scipy.stats

    half = stdtrit(n - 1, (1 + level) / 2) * found.std(ddof=1) / sqrt(n)
    return Interval(float(found.mean()), float(half), n)


def paired(a: Mapping[int, float], b: Mapping[int, float], level: float = LEVEL) -> Interval:
    """Interval of a - b over the seeds that both have."""
    return interval((a[seed] - b[seed] for seed in sorted(a.keys() & b.keys())), level)


def unpaired(a: Iterable[float], b: Iterable[float], level: float = LEVEL) -> Interval:
    """Interval of mean(a) - mean(b) of independent values that need not spread alike (Welch); n is the smaller number.

    Without two values on each side it has no width.
    """
    one, other = interval(a, level), interval(b, level)
    n = min(one.n, other.n)
    difference = one.mean - other.mean
    if n < 2:
        return Interval(difference, nan, n)
    from scipy.special import stdtrit

    # Squared standard errors, from the widths.
    parts = [(side.half / stdtrit(side.n - 1, (1 + level) / 2)) ** 2 for side in (one, other)]
    total = sum(parts)
    if total == 0:
        return Interval(difference, 0.0, n)
    freedom = total**2 / (parts[0] ** 2 / (one.n - 1) + parts[1] ** 2 / (other.n - 1))
    return Interval(difference, float(stdtrit(freedom, (1 + level) / 2) * sqrt(total)), n)


@dataclass(frozen=True)
class Reached:
    """What was spent, energy or time, when an accuracy was first reached, as far as tests tell."""

    straight: float
    """Were accuracy to go straight over what is spent between two tests."""
    least: float
    """Were it reached one aggregation after the last test below it."""
    most: float
    """Were it reached only with the test that shows it."""
    missed: bool
    """It never was: all three are what the whole run took."""


def spent_to(aggregation: ArrayLike, accuracy: ArrayLike, spent: ArrayLike, target: float) -> Reached:
    """What was spent until `accuracy` first reached `target`. Arrays (tests,), in order.

    A scheme that spends much between two tests is not charged for all of it. Aggregations between two tests are taken
    to cost the same; a model changes with an aggregation, so nothing is reached before the next one.
    """
    at, seen, taken = (np.asarray(one, dtype=float) for one in (aggregation, accuracy, spent))
    reached = np.flatnonzero(seen >= target)
    after = int(reached[0]) if len(reached) else len(taken) - 1
    most = float(taken[after])
    if after == 0 or not len(reached):
        return Reached(most, most, most, missed=not len(reached))
    least = min(float(np.interp(at[after - 1] + 1, at, taken)), most)
    straight = float(np.interp(target, seen[after - 1 : after + 1], taken[after - 1 : after + 1]))
    return Reached(min(max(straight, least), most), least, most, missed=False)


def mean_over_aggregations(aggregation: ArrayLike, accuracy: ArrayLike) -> float:
    """Mean accuracy over all aggregations from the first test to the last.

    Between two tests the accuracy is taken to go straight, so runs tested at different spacings compare.
    Both arrays (tests,), in order.
    """
    at = np.asarray(aggregation, dtype=float)
    return float(np.interp(np.arange(at[0], at[-1] + 1), at, np.asarray(accuracy, dtype=float)).mean())
