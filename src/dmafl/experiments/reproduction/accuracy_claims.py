"""Comparisons of accuracy between schemes: claims C1, C9 and C10."""

from __future__ import annotations

from math import inf

from dmafl.base.statistics import interval, mean_over_aggregations, paired
from dmafl.experiments.reproduction.design import BASELINES, PLANNED, TASKS
from dmafl.experiments.reproduction.study_outcomes import BySeed, StudyOutcomes
from dmafl.experiments.reproduction.targets import log_of
from dmafl.experiments.reproduction.verdicts import ABOVE, Comparison

MEAN, FINAL = "accuracy averaged over aggregations", "final accuracy"
LEVEL_WITHIN = 0.02
"""Accuracy by which a scheme may lie below another and still be called level with it."""
OTHERS = (*BASELINES, *(scheme for scheme in PLANNED if scheme != "dma-fl"))


def accuracies(by_seed: BySeed) -> dict[str, dict[int, float]]:
    """Both measures of accuracy, by seed."""
    return {
        MEAN: {
            seed: mean_over_aggregations(outcome.curve["aggregation"], outcome.curve["accuracy"])
            for seed, outcome in by_seed.items()
        },
        FINAL: {seed: float(outcome.curve["accuracy"][-1]) for seed, outcome in by_seed.items()},
    }


def c1(outcomes: StudyOutcomes) -> list[Comparison]:
    """dirichlet: `dma-fl` and `dma-fl-nr` above the four others, and `dma-fl-nr` the closest to `dma-fl`."""
    lower = [scheme for scheme in OTHERS if scheme != "dma-fl-nr"]
    comparisons = []
    for task in TASKS:
        for upper in ("dma-fl", "dma-fl-nr"):
            for scheme in lower:
                comparisons += _above(outcomes, "dirichlet", task, upper, scheme)
        for scheme in lower:
            comparisons += _closer(outcomes, "dirichlet", task, "dma-fl-nr", scheme)
    return comparisons


def c9(outcomes: StudyOutcomes) -> list[Comparison]:
    """varied: `dma-fl`, `fedavg-full` above `fedasync`; `fedavg-full` above `dma-fl` on two tasks, at more energy."""
    comparisons = []
    for task in TASKS:
        comparisons += _above(outcomes, "varied", task, "dma-fl", "fedasync")
        comparisons += _above(outcomes, "varied", task, "fedavg-full", "fedasync")
        if task != "svhn":
            comparisons += _above(outcomes, "varied", task, "fedavg-full", "dma-fl")
            comparisons.append(_more_energy(outcomes, "varied", task, "fedavg-full", "dma-fl"))
    return comparisons


def c10(outcomes: StudyOutcomes) -> list[Comparison]:
    """2-label: `dma-fl` above all others on SVHN and MNIST, level with them on Fashion-MNIST."""
    comparisons = []
    for task in TASKS:
        claimed = (-LEVEL_WITHIN, inf) if task == "fashion_mnist" else ABOVE
        for scheme in OTHERS:
            comparisons += _above(outcomes, "k_labels", task, "dma-fl", scheme, claimed)
    return comparisons


def _above(
    outcomes: StudyOutcomes,
    partition: str,
    task: str,
    first: str,
    second: str,
    claimed: tuple[float, float] = ABOVE,
) -> list[Comparison]:
    """Accuracy of `first` minus that of `second`, by both measures."""
    of_first, of_second = (accuracies(outcomes.of(partition, scheme, task)) for scheme in (first, second))
    return [
        Comparison(
            measure, partition, task, first, second, paired(of_first[measure], of_second[measure]), claimed
        )
        for measure in (MEAN, FINAL)
    ]


def _closer(outcomes: StudyOutcomes, partition: str, task: str, near: str, far: str) -> list[Comparison]:
    """How much farther `far` lies from `dma-fl` than `near` does, by both measures."""
    of_reference, of_near, of_far = (
        accuracies(outcomes.of(partition, scheme, task)) for scheme in ("dma-fl", near, far)
    )
    comparisons = []
    for measure in (MEAN, FINAL):
        reference, nearer, farther = of_reference[measure], of_near[measure], of_far[measure]
        effect = interval(
            abs(reference[seed] - farther[seed]) - abs(reference[seed] - nearer[seed])
            for seed in sorted(reference.keys() & nearer.keys() & farther.keys())
        )
        distance = f"distance to dma-fl in {measure}"
        comparisons.append(Comparison(distance, partition, task, far, near, effect))
    return comparisons


def _more_energy(outcomes: StudyOutcomes, partition: str, task: str, first: str, second: str) -> Comparison:
    """Log ratio of the energies of whole runs."""
    of_first, of_second = (
        {seed: log_of(outcome.energy_J[-1]) for seed, outcome in outcomes.of(partition, scheme, task).items()}
        for scheme in (first, second)
    )
    return Comparison("log energy of the run", partition, task, first, second, paired(of_first, of_second))
