"""Energy to target accuracies, relative between schemes. Targets are fixed on the tuning seed."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from dmafl.statistics import Interval, energy_to, paired
from dmafl.study.design import TASKS
from dmafl.study.gathered import BySeed, Gathered

SHARES = (0.8, 0.9, 1.0)
"""Targets, as shares of the final accuracy of `fedasync` on the tuning seed."""
REFERENCE = "dma-fl"
TINY_J = 1e-9
"""Takes the place of no energy at all, of a target that the first model meets."""


@dataclass(frozen=True)
class LogRatio:
    """Log of the energy that `first` needs to a target over what `second` needs, paired by seed."""

    effect: Interval
    first_censored: int
    second_censored: int


@dataclass(frozen=True)
class Ratio:
    """Energy to a target of a scheme against `dma-fl`, as it was and with every CPU at its lowest frequency."""

    partition: str
    task: str
    share: float
    target: float
    scheme: str
    raw: LogRatio
    floor: LogRatio


def target(gathered: Gathered, partition: str, task: str, share: float) -> float | None:
    """A target accuracy; None if the tuning run is not there."""
    tuned = gathered.tuned(partition, task)
    return None if tuned is None else share * float(tuned.curve["accuracy"][-1])


def log_ratio(first: BySeed, second: BySeed, accuracy: float | None, *, floor: bool = False) -> LogRatio:
    """How much more energy `first` needs until it is tested with `accuracy`, over the seeds that both have.

    A run that does not get there counts with all of its energy, and is counted as censored. Without a target there
    is nothing to compare.
    """
    if accuracy is None:
        return LogRatio(paired({}, {}), 0, 0)
    common = first.keys() & second.keys()
    needed: list[dict[int, float]] = []
    censored: list[int] = []
    for side in (first, second):
        found = {
            seed: energy_to(
                side[seed].curve["accuracy"],
                side[seed].floor_energy_J if floor else side[seed].energy_J,
                accuracy,
            )
            for seed in common
        }
        needed.append({seed: log(max(energy_J, TINY_J)) for seed, (energy_J, _) in found.items()})
        censored.append(sum(missed for _, missed in found.values()))
    return LogRatio(paired(needed[0], needed[1]), censored[0], censored[1])


def ratios(gathered: Gathered) -> list[Ratio]:
    """Energy to every target of every scheme against `dma-fl`."""
    found = []
    for partition in gathered.study.partitions:
        for task in TASKS:
            reference = gathered.of(partition, REFERENCE, task)
            for share in SHARES:
                accuracy = target(gathered, partition, task, share)
                if accuracy is None:
                    continue
                for scheme in gathered.schemes(partition):
                    own = gathered.of(partition, scheme, task)
                    if scheme == REFERENCE or not own.keys() & reference.keys():
                        continue
                    both = (log_ratio(own, reference, accuracy, floor=floor) for floor in (False, True))
                    found.append(Ratio(partition, task, share, accuracy, scheme, *both))
    return found
