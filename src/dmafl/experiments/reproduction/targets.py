"""Energy to target accuracies, relative between schemes. Targets are fixed on the tuning seed."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Literal

from dmafl.base.arrays import FloatArray
from dmafl.base.statistics import Interval, paired, spent_to
from dmafl.experiments.reproduction.design import TASKS
from dmafl.experiments.reproduction.outcome import TaskOutcome
from dmafl.experiments.reproduction.study_outcomes import BySeed, StudyOutcomes
from dmafl.experiments.reproduction.verdicts import ends

SHARES = (0.8, 0.9, 1.0)
"""Targets, as shares of the final accuracy of `fedasync` on the tuning seed."""
REFERENCE = "dma-fl"
TINY = 1e-9
"""Takes the place of no energy and no time at all, of a target that the first model meets."""
GUESSED = {"svhn": 0.2045, "mnist": 0.116, "fashion_mnist": 0.106}
"""Accuracy of always naming the commonest class, on the study's test samples or on its whole test set: the larger one.
A target that is not above it is no evidence of learning."""


@dataclass(frozen=True)
class Reading:
    """What is read off a curve up to a target, and what is taken to happen between two tests."""

    of: Literal["energy", "floor", "time"] = "energy"
    """`floor`: energy with every CPU at its lowest frequency."""
    worst: bool = False
    """Not straight between two tests: what speaks most for the first scheme and most against the second."""

    def spent(self, outcome: TaskOutcome, accuracy: float, *, first: bool) -> tuple[float, bool]:
        """What was spent up to a target, all of it if the target is missed; and whether it is."""
        curve = outcome.curve
        spent = spent_to(curve["aggregation"], curve["accuracy"], self._column(outcome), accuracy)
        if self.worst:
            return (spent.least if first else spent.most), spent.missed
        return spent.straight, spent.missed

    def _column(self, outcome: TaskOutcome) -> FloatArray:
        if self.of == "time":
            return outcome.curve["time_s"]
        return outcome.floor_energy_J if self.of == "floor" else outcome.energy_J


PLAIN, FLOOR, TIME, WORST = Reading(), Reading("floor"), Reading("time"), Reading(worst=True)


@dataclass(frozen=True)
class LogRatio:
    """Log of what `first` needs to a target over what `second` needs, paired by seed."""

    effect: Interval
    first_censored: int
    second_censored: int

    @property
    def ends(self) -> tuple[float, float]:
        """Of the interval, as far as it has any."""
        return ends(self.effect, self.first_censored, self.second_censored)


@dataclass(frozen=True)
class Ratio:
    """Energy to a target of a scheme against `dma-fl`, as it was and with every CPU at its lowest frequency; time."""

    partition: str
    task: str
    share: float
    target: float
    scheme: str
    raw: LogRatio
    floor: LogRatio
    time: LogRatio

    @property
    def guessed(self) -> bool:
        """Whether guessing reaches the target."""
        return guessed(self.task, self.target)


def target(outcomes: StudyOutcomes, partition: str, task: str, share: float) -> float | None:
    """A target accuracy; None if the tuning run is not there."""
    tuned = outcomes.tuned(partition, task)
    return None if tuned is None else share * float(tuned.curve["accuracy"][-1])


def guessed(task: str, accuracy: float | None) -> bool:
    """Whether always naming the commonest class reaches an accuracy."""
    return accuracy is not None and accuracy <= GUESSED[task]


def log_of(spent: float) -> float:
    """Of an energy or a time; of none at all, that of `TINY`."""
    return log(max(spent, TINY))


def log_ratio(first: BySeed, second: BySeed, accuracy: float | None, reading: Reading = PLAIN) -> LogRatio:
    """How much more `first` needs until it has `accuracy`, over the seeds that both have.

    A run that does not get there counts with all that it took, and is counted as censored. Without a target there
    is nothing to compare.
    """
    if accuracy is None:
        return LogRatio(paired({}, {}), 0, 0)
    common = first.keys() & second.keys()
    needed: list[dict[int, float]] = []
    censored: list[int] = []
    for is_first, side in ((True, first), (False, second)):
        of_seeds = {seed: reading.spent(side[seed], accuracy, first=is_first) for seed in common}
        needed.append({seed: log_of(spent) for seed, (spent, _) in of_seeds.items()})
        censored.append(sum(missed for _, missed in of_seeds.values()))
    return LogRatio(paired(needed[0], needed[1]), censored[0], censored[1])


def ratios(outcomes: StudyOutcomes) -> list[Ratio]:
    """Energy to every target of every scheme against `dma-fl`."""
    all_ratios = []
    for partition in outcomes.study.partitions:
        for task in TASKS:
            reference = outcomes.of(partition, REFERENCE, task)
            for share in SHARES:
                accuracy = target(outcomes, partition, task, share)
                if accuracy is None:
                    continue
                for scheme in outcomes.schemes(partition):
                    by_seed = outcomes.of(partition, scheme, task)
                    if scheme == REFERENCE or not by_seed.keys() & reference.keys():
                        continue
                    all_three = (
                        log_ratio(by_seed, reference, accuracy, reading) for reading in (PLAIN, FLOOR, TIME)
                    )
                    all_ratios.append(Ratio(partition, task, share, accuracy, scheme, *all_three))
    return all_ratios
