"""The rule by which claims are judged, in one place.

A comparison says of an effect where it ought to lie: above 0, below 0, or within a band. It *holds* if the whole
interval of the effect lies there, *fails* if none of it does, and is *undecided* otherwise. With one seed there is no
interval and nothing is decided. An energy to a target that was not reached is a lower bound; the interval then has no
end on the side to which the true effect may go. Its other end is that of the energies spent: it is no bound on what a
t-interval of the true ones would have, which are farther away and may scatter more.

A claim *holds* if all of its comparisons hold, *does not hold* if some fail and none holds, is *undecided* if nothing
is decided, and *mixed* otherwise. Comparisons that were not run do not count; a claim without any is *not run*.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, isnan, nan

from dmafl.base.statistics import Interval
from dmafl.experiments.reproduction.factors import factor_with_interval
from dmafl.experiments.reproduction.names import PARTITION_NAMES, TASK_NAMES

ABOVE = (0.0, inf)
BELOW = (-inf, 0.0)
HOLDS, FAILS, UNDECIDED, NOT_RUN = "holds", "fails", "undecided", "not run"
DOES_NOT_HOLD, MIXED = "does not hold", "mixed"
LOG = "log "
"""Measures that begin so are logs of factors."""
NARROWEST = 1e-12
"""Takes the place of an interval without width, so that effects can be ranked."""


def ends(effect: Interval, first_censored: int, second_censored: int) -> tuple[float, float]:
    """Of an interval whose effect is that of a first against a second, where targets were missed by either.

    nan where the interval has no width.
    """
    if isnan(effect.half):
        return nan, nan
    return -inf if second_censored else effect.low, inf if first_censored else effect.high


def placed(effect: Interval, ends: tuple[float, float], claimed: tuple[float, float] = ABOVE) -> str:
    """Where an effect with these ends lies: `holds`, `fails`, `undecided` or `not run`."""
    if effect.n == 0:
        return NOT_RUN
    if isnan(effect.half):
        return UNDECIDED
    (low, high), (least, most) = ends, claimed
    if (least < low or least == -inf) and (high < most or most == inf):
        return HOLDS
    return FAILS if high < least or low > most else UNDECIDED


@dataclass(frozen=True)
class Comparison:
    """One effect, paired by seed, beside what the claim says of it."""

    measure: str
    """What the effect is a difference or log ratio of, with its unit."""
    partition: str
    task: str
    first: str
    second: str
    """The effect is that of `first` against `second`."""
    effect: Interval
    claimed: tuple[float, float] = ABOVE
    """Where the effect lies if the claim is right."""
    first_censored: int = 0
    second_censored: int = 0
    """Seeds in which the target was not reached."""
    judged: bool = True
    """Whether it counts for the verdict, or is there to be seen."""
    drifting: str = ""
    """The task whose drift the effect is a response to."""

    @property
    def state(self) -> str:
        """`holds`, `fails`, `undecided` or `not run`."""
        return placed(self.effect, self.ends, self.claimed)

    @property
    def ends(self) -> tuple[float, float]:
        """Of the interval, as far as it has any."""
        return ends(self.effect, self.first_censored, self.second_censored)

    @property
    def is_factor(self) -> bool:
        """Whether the effect is the log of a factor."""
        return self.measure.startswith(LOG)

    @property
    def quantity(self) -> str:
        """What is compared, for a person: of a factor, without its logarithm."""
        return self.measure.removeprefix(LOG)

    @property
    def shown(self) -> str:
        """The effect with its interval, for a person: a factor, or a difference."""
        if self.is_factor:
            return factor_with_interval(self.effect, self.ends, " times")
        if isnan(self.effect.mean):
            return ""
        return f"{self.effect.mean:+.3f}" + ("" if isnan(self.effect.half) else f" ± {self.effect.half:.3f}")

    @property
    def censored(self) -> int:
        """Targets not reached, of both."""
        return self.first_censored + self.second_censored

    @property
    def label(self) -> str:
        """For a person."""
        where = f"{TASK_NAMES[self.task]}, {PARTITION_NAMES[self.partition]}"
        return f"{where}: {self.first} against {self.second}, {self.quantity}"


@dataclass(frozen=True)
class Claim:
    """A claim of the paper and its verdict."""

    id: str
    text: str
    figure: str
    command: str
    comparisons: tuple[Comparison, ...]
    why: str = ""
    """One line, where it does not hold throughout or was not run."""

    @property
    def counted(self) -> tuple[Comparison, ...]:
        """Comparisons that were run and count."""
        return counted(self.comparisons)

    @property
    def verdict(self) -> str:
        """`holds`, `does not hold`, `mixed`, `undecided` or `not run`."""
        return verdict([comparison.state for comparison in self.counted])

    @property
    def wanted(self) -> int:
        """Comparisons that count, run or not."""
        return sum(comparison.judged for comparison in self.comparisons)

    def count(self, state: str) -> int:
        """How many of the judged comparisons are in `state`."""
        return sum(comparison.state == state for comparison in self.counted)

    @property
    def seeds(self) -> str:
        """Seeds behind the comparisons: one number, or from the fewest to the most."""
        numbers = sorted({comparison.effect.n for comparison in self.counted}) or [0]
        return f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}"

    @property
    def censored(self) -> int:
        """Targets not reached in all comparisons."""
        return sum(comparison.censored for comparison in self.counted)


def counted(comparisons: Iterable[Comparison]) -> tuple[Comparison, ...]:
    """Those that were run and are judged."""
    return tuple(
        comparison for comparison in comparisons if comparison.judged and comparison.state != NOT_RUN
    )


def verdict(states: Sequence[str]) -> str:
    """The verdict on a claim from the states of those of its comparisons that were run."""
    if not states:
        return NOT_RUN
    if all(state == HOLDS for state in states):
        return HOLDS
    if HOLDS in states:
        return MIXED
    return DOES_NOT_HOLD if FAILS in states else UNDECIDED


def firmness(comparison: Comparison) -> float:
    """How far the mean lies inside of what is claimed, in half widths of the interval; negative outside.

    Without an interval, in the unit of the effect.
    """
    least, most = comparison.claimed
    inside = min(comparison.effect.mean - least, most - comparison.effect.mean)
    half = comparison.effect.half
    return inside if isnan(half) else inside / max(half, NARROWEST)
