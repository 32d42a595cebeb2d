"""Comparisons of energy to a target accuracy: claims C2, C3, C4 and C8."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import log

from dmafl.statistics import interval
from dmafl.study.accuracy_claims import OTHERS
from dmafl.study.design import PARTITIONS, TASKS
from dmafl.study.gathered import Gathered
from dmafl.study.targets import PLAIN, SHARES, Reading, guessed, log_of, log_ratio, target
from dmafl.study.verdicts import Comparison

ASYNCHRONOUS = ("dma-fl", "dma-fl-nr", "dma-fl-ns", "fedasync")
SYNCHRONOUS = ("fedavg-full", "fedavg-partial")
PRINTED_KJ = {"svhn": (0.65, 146.98), "mnist": (0.70, 11.70), "fashion_mnist": (0.70, 28.29)}
"""Target accuracy, and what `fedavg-full` spends up to it on `varied`, as the paper prints it [kJ]."""
WITHIN = 10.0
"""Factor within which an energy has the printed order of magnitude."""
J_PER_KJ = 1000.0


def c2(gathered: Gathered, reading: Reading = PLAIN) -> list[Comparison]:
    """Every partition: all others need more energy than `dma-fl`."""
    return _need_more(gathered, PARTITIONS, OTHERS, ["dma-fl"], reading)


def c3(gathered: Gathered, reading: Reading = PLAIN) -> list[Comparison]:
    """Every partition: synchronous schemes need more energy than asynchronous ones."""
    return _need_more(gathered, PARTITIONS, SYNCHRONOUS, ASYNCHRONOUS, reading)


def c4(gathered: Gathered, reading: Reading = PLAIN) -> list[Comparison]:
    """`dma-fl-nr` and `fedasync` need more than `dma-fl` and `dma-fl-ns`, where the paper shows all four."""
    shown = [partition for partition in PARTITIONS if partition != "varied"]
    return _need_more(gathered, shown, ("dma-fl-nr", "fedasync"), ("dma-fl", "dma-fl-ns"), reading)


def c8(gathered: Gathered) -> list[Comparison]:
    """varied: `fedavg-full` spends what the paper prints, to an order of magnitude."""
    found = []
    for task, (accuracy, printed_kJ) in PRINTED_KJ.items():
        runs = gathered.of("varied", "fedavg-full", task).values()
        spent = [PLAIN.spent(one, accuracy, first=True) for one in runs]
        effect = interval(log_of(energy_J) - log(J_PER_KJ * printed_kJ) for energy_J, _ in spent)
        found.append(
            Comparison(
                f"log energy to {accuracy:.0%}",
                "varied",
                task,
                "fedavg-full",
                f"{printed_kJ:g} kJ",
                effect,
                (-log(WITHIN), log(WITHIN)),
                sum(missed for _, missed in spent),
            )
        )
    return found


def _need_more(
    gathered: Gathered, partitions: Sequence[str], more: Sequence[str], less: Sequence[str], reading: Reading
) -> list[Comparison]:
    """Log ratio of energies to every target, of each of `more` against each of `less`.

    A target that guessing reaches is shown and not judged.
    """
    found = []
    for partition, task, share in product(partitions, TASKS, SHARES):
        accuracy = target(gathered, partition, task, share)
        for first, second in product(more, less):
            one, other = (gathered.of(partition, scheme, task) for scheme in (first, second))
            ratio = log_ratio(one, other, accuracy, reading)
            found.append(
                Comparison(
                    f"log energy to {share:.0%} of fedasync's accuracy",
                    partition,
                    task,
                    first,
                    second,
                    ratio.effect,
                    first_censored=ratio.first_censored,
                    second_censored=ratio.second_censored,
                    judged=not guessed(task, accuracy),
                )
            )
    return found
