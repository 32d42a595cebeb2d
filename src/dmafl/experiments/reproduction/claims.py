"""The paper's claims C1 to C10, judged from outcomes alone."""

from __future__ import annotations

from collections.abc import Callable

from dmafl.experiments.reproduction.accuracy_claims import c1, c9, c10
from dmafl.experiments.reproduction.design import JUDGED_WITH, Study
from dmafl.experiments.reproduction.energy_claims import c2, c3, c4, c8
from dmafl.experiments.reproduction.presets import study_of
from dmafl.experiments.reproduction.reasons import reason
from dmafl.experiments.reproduction.response_claims import c5, c6, c7
from dmafl.experiments.reproduction.study_outcomes import StudyOutcomes
from dmafl.experiments.reproduction.verdicts import Claim, Comparison

CLAIMS: dict[str, tuple[str, str, Callable[[StudyOutcomes], list[Comparison]]]] = {
    "C1": (
        "dirichlet: dma-fl and dma-fl-nr above fedasync, fedavg-full, fedavg-partial and dma-fl-ns in accuracy per "
        "aggregation on every task; dma-fl-nr closest to dma-fl",
        "5",
        c1,
    ),
    "C2": (
        "each partition, each task: dma-fl reaches target accuracies with less energy than every other scheme",
        "6, 12, 14",
        c2,
    ),
    "C3": ("asynchronous schemes need less energy than synchronous ones for the same accuracy", "6", c3),
    "C4": (
        "dma-fl and dma-fl-ns have a better accuracy-energy trade-off than dma-fl-nr and fedasync",
        "6",
        c4,
    ),
    "C5": (
        "raising a task's importance raises its accuracy, its energy and its share of SGD steps",
        "7, 8",
        c5,
    ),
    "C6": ("raising a task's active drift lowers its computation time and raises the others'", "9", c6),
    "C7": (
        "raising a task's idle drift lowers its idle time (and raises the others', where budgets are tight)",
        "10",
        c7,
    ),
    "C8": (
        "fedavg-full on varied: 65% on SVHN, 70% on MNIST and 70% on Fashion-MNIST cost 146.98, 11.70 and 28.29 kJ, "
        "to an order of magnitude",
        "12",
        c8,
    ),
    "C9": (
        "varied: dma-fl above fedasync and fedavg-full above fedasync on all tasks; fedavg-full above dma-fl on MNIST "
        "and Fashion-MNIST at far more energy",
        "11",
        c9,
    ),
    "C10": (
        "2-label: dma-fl far above all others on SVHN, slightly on MNIST, level on Fashion-MNIST",
        "13",
        c10,
    ),
}
"""Text, figure of the paper, and comparisons of each claim."""


def judge(outcomes: StudyOutcomes) -> list[Claim]:
    """All claims with their comparisons, in order."""
    claims = []
    for name, (text, figure, compare) in CLAIMS.items():
        comparisons = compare(outcomes)
        why = reason(outcomes, name, comparisons)
        claims.append(Claim(name, text, figure, command(outcomes.study, name), tuple(comparisons), why))
    return claims


def command(study: Study, claim: str) -> str:
    """What recomputes a claim, with the preset that it is judged with."""
    usual = study_of(study.preset, study.quick)
    seeds = "" if study.seeds == usual.seeds else " --seeds " + ",".join(str(seed) for seed in study.seeds)
    quick = " --quick" if study.quick else ""
    return f"dmafl reproduce{quick} --preset {JUDGED_WITH.get(claim, study.preset)} --only {claim}{seeds}"
