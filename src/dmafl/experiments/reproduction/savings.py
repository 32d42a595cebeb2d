"""Energy and time of every scheme beside those of `dma-fl`, over all targets that are judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from dmafl.experiments.reproduction.targets import LogRatio, Ratio
from dmafl.experiments.reproduction.verdicts import FAILS, HOLDS, UNDECIDED, placed


@dataclass(frozen=True)
class Spread:
    """Logs of what a scheme needs over what `dma-fl` needs: the middle one, the least and the largest of several."""

    middle: float
    least: float
    most: float
    bound: bool
    """Whether the scheme missed some of the targets, so that it needs more than this."""

    @classmethod
    def of(cls, ratios: Sequence[LogRatio]) -> Spread:
        """Of ratios to several targets."""
        means = [ratio.effect.mean for ratio in ratios]
        missed = any(ratio.first_censored for ratio in ratios)
        return cls(median(means), min(means), max(means), missed)


@dataclass(frozen=True)
class Saving:
    """A scheme beside `dma-fl`, over every partition, task and target that is judged."""

    scheme: str
    less: int
    """Comparisons in which `dma-fl` needs less energy."""
    more: int
    undecided: int
    energy: Spread
    floor: Spread
    """Energy with every CPU at its lowest frequency."""
    time: Spread

    @property
    def comparisons(self) -> int:
        """All of them."""
        return self.less + self.more + self.undecided


def savings(ratios: Sequence[Ratio]) -> list[Saving]:
    """One for every scheme that has ratios to targets which guessing does not reach, in the order of the ratios."""
    by_scheme: dict[str, list[Ratio]] = {}
    for ratio in ratios:
        if not ratio.guessed:
            by_scheme.setdefault(ratio.scheme, []).append(ratio)
    return [_saving(scheme, of_scheme) for scheme, of_scheme in by_scheme.items()]


def _saving(scheme: str, ratios: Sequence[Ratio]) -> Saving:
    states = [placed(ratio.raw.effect, ratio.raw.ends) for ratio in ratios]
    return Saving(
        scheme,
        states.count(HOLDS),
        states.count(FAILS),
        states.count(UNDECIDED),
        Spread.of([ratio.raw for ratio in ratios]),
        Spread.of([ratio.floor for ratio in ratios]),
        Spread.of([ratio.time for ratio in ratios]),
    )
