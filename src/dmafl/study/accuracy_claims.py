"""Comparisons of accuracy between schemes: claims C1, C9 and C10."""

from __future__ import annotations

from math import inf

from dmafl.statistics import interval, mean_over_aggregations, paired
from dmafl.study.design import BASELINES, PLANNED, TASKS
from dmafl.study.gathered import BySeed, Gathered
from dmafl.study.targets import log_of
from dmafl.study.verdicts import ABOVE, Comparison

MEAN, FINAL = "accuracy averaged over aggregations", "final accuracy"
LEVEL_WITHIN = 0.02
"""Accuracy by which a scheme may lie below another and still be called level with it."""
OTHERS = (*BASELINES, *(scheme for scheme in PLANNED if scheme != "dma-fl"))


def accuracies(of: BySeed) -> dict[str, dict[int, float]]:
    """Both measures of accuracy, by seed."""
    return {
        MEAN: {
            seed: mean_over_aggregations(one.curve["aggregation"], one.curve["accuracy"])
            for seed, one in of.items()
        },
        FINAL: {seed: float(one.curve["accuracy"][-1]) for seed, one in of.items()},
    }


def c1(gathered: Gathered) -> list[Comparison]:
    """dirichlet: `dma-fl` and `dma-fl-nr` above the four others, and `dma-fl-nr` the closest to `dma-fl`."""
    lower = [scheme for scheme in OTHERS if scheme != "dma-fl-nr"]
    found = []
    for task in TASKS:
        for upper in ("dma-fl", "dma-fl-nr"):
            for scheme in lower:
                found += _above(gathered, "dirichlet", task, upper, scheme)
        for scheme in lower:
            found += _closer(gathered, "dirichlet", task, "dma-fl-nr", scheme)
    return found


def c9(gathered: Gathered) -> list[Comparison]:
    """varied: `dma-fl`, `fedavg-full` above `fedasync`; `fedavg-full` above `dma-fl` on two tasks, at more energy."""
    found = []
    for task in TASKS:
        found += _above(gathered, "varied", task, "dma-fl", "fedasync")
        found += _above(gathered, "varied", task, "fedavg-full", "fedasync")
        if task != "svhn":
            found += _above(gathered, "varied", task, "fedavg-full", "dma-fl")
            found.append(_more_energy(gathered, "varied", task, "fedavg-full", "dma-fl"))
    return found


def c10(gathered: Gathered) -> list[Comparison]:
    """2-label: `dma-fl` above all others on SVHN and MNIST, level with them on Fashion-MNIST."""
    found = []
    for task in TASKS:
        claimed = (-LEVEL_WITHIN, inf) if task == "fashion_mnist" else ABOVE
        for scheme in OTHERS:
            found += _above(gathered, "k_labels", task, "dma-fl", scheme, claimed)
    return found


def _above(
    gathered: Gathered,
    partition: str,
    task: str,
    first: str,
    second: str,
    claimed: tuple[float, float] = ABOVE,
) -> list[Comparison]:
    """Accuracy of `first` minus that of `second`, by both measures."""
    one, other = (accuracies(gathered.of(partition, scheme, task)) for scheme in (first, second))
    return [
        Comparison(measure, partition, task, first, second, paired(one[measure], other[measure]), claimed)
        for measure in (MEAN, FINAL)
    ]


def _closer(gathered: Gathered, partition: str, task: str, near: str, far: str) -> list[Comparison]:
    """How much farther `far` lies from `dma-fl` than `near` does, by both measures."""
    own, one, other = (accuracies(gathered.of(partition, scheme, task)) for scheme in ("dma-fl", near, far))
    found = []
    for measure in (MEAN, FINAL):
        seeds = sorted(own[measure].keys() & one[measure].keys() & other[measure].keys())
        effect = interval(
            abs(own[measure][seed] - other[measure][seed]) - abs(own[measure][seed] - one[measure][seed])
            for seed in seeds
        )
        distance = f"distance to dma-fl in {measure}"
        found.append(Comparison(distance, partition, task, far, near, effect))
    return found


def _more_energy(gathered: Gathered, partition: str, task: str, first: str, second: str) -> Comparison:
    """Log ratio of the energies of whole runs."""
    one, other = (
        {seed: log_of(found.energy_J[-1]) for seed, found in gathered.of(partition, scheme, task).items()}
        for scheme in (first, second)
    )
    return Comparison("log energy of the run", partition, task, first, second, paired(one, other))
