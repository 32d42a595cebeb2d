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
    """Mean of `values` with its t-interval of this level; nan for the width of one value and for the mean of none."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1; got {level!r}")
    sample = np.asarray(list(values), dtype=float)
    n = len(sample)
    if n < 2:
        return Interval(float(sample[0]) if n else nan, nan, n)
    from scipy.special import stdtrit  # Student's quantile, without the slow import of scipy.stats

    half = stdtrit(n - 1, (1 + level) / 2) * sample.std(ddof=1) / sqrt(n)
    return Interval(float(sample.mean()), float(half), n)


def paired(a: Mapping[int, float], b: Mapping[int, float], level: float = LEVEL) -> Interval:
    """Interval of a - b over the seeds that both have results for."""
    return interval((a[seed] - b[seed] for seed in sorted(a.keys() & b.keys())), level)


def unpaired(a: Iterable[float], b: Iterable[float], level: float = LEVEL) -> Interval:
    """Interval of mean(a) - mean(b) of independent values of unequal variance (Welch); n is the smaller number.

    Without two values on each side it has no width.
    """
    first, second = interval(a, level), interval(b, level)
    n = min(first.n, second.n)
    difference = first.mean - second.mean
    if n < 2:
        return Interval(difference, nan, n)
    from scipy.special import stdtrit

    # Squared standard errors, from the widths.
    parts = [(side.half / stdtrit(side.n - 1, (1 + level) / 2)) ** 2 for side in (first, second)]
    total = sum(parts)
    if total == 0:
        return Interval(difference, 0.0, n)
    freedom = total**2 / (parts[0] ** 2 / (first.n - 1) + parts[1] ** 2 / (second.n - 1))
    return Interval(difference, float(stdtrit(freedom, (1 + level) / 2) * sqrt(total)), n)


@dataclass(frozen=True)
class Reached:
    """Energy or time that was spent until an accuracy was first reached, as far as the tests show it."""

    straight: float
    """If accuracy is linear in what is spent between two tests."""
    least: float
    """If it was reached one aggregation after the last test below it."""
    most: float
    """If it was reached only at the test that shows it."""
    missed: bool
    """True if it was never reached: then all three are what the whole run spent."""


def spent_to(aggregation: ArrayLike, accuracy: ArrayLike, spent: ArrayLike, target: float) -> Reached:
    """What was spent until `accuracy` first reached `target`. Arrays (tests,), in order.

    A scheme that spends much between two tests is not charged for all of it. All aggregations between two tests are
    assumed to cost the same. A model changes only with an aggregation, so nothing is reached before the next one.
    """
    tested_at, measured, amounts = (
        np.asarray(column, dtype=float) for column in (aggregation, accuracy, spent)
    )
    reached = np.flatnonzero(measured >= target)
    after = int(reached[0]) if len(reached) else len(amounts) - 1
    most = float(amounts[after])
    if after == 0 or not len(reached):
        return Reached(most, most, most, missed=not len(reached))
    least = min(float(np.interp(tested_at[after - 1] + 1, tested_at, amounts)), most)
    straight = float(np.interp(target, measured[after - 1 : after + 1], amounts[after - 1 : after + 1]))
    return Reached(min(max(straight, least), most), least, most, missed=False)


def mean_over_aggregations(aggregation: ArrayLike, accuracy: ArrayLike) -> float:
    """Mean accuracy over all aggregations from the first test to the last.

    Between two tests the accuracy is interpolated linearly, so that runs with different test intervals compare.
    Both arrays (tests,), in order.
    """
    tested_at = np.asarray(aggregation, dtype=float)
    every = np.arange(tested_at[0], tested_at[-1] + 1)
    return float(np.interp(every, tested_at, np.asarray(accuracy, dtype=float)).mean())
