"""The paper's claims C1 to C10, judged from outcomes alone."""

from __future__ import annotations

from collections.abc import Callable

from dmafl.study.accuracy_claims import c1, c9, c10
from dmafl.study.design import JUDGED_WITH, Study
from dmafl.study.energy_claims import c2, c3, c4, c8
from dmafl.study.gathered import Gathered
from dmafl.study.presets import study_of
from dmafl.study.reasons import reason
from dmafl.study.response_claims import c5, c6, c7
from dmafl.study.verdicts import Claim, Comparison

CLAIMS: dict[str, tuple[str, str, Callable[[Gathered], list[Comparison]]]] = {
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


def judge(gathered: Gathered) -> list[Claim]:
    """All claims with their comparisons, in order."""
    found = []
    for name, (text, figure, compare) in CLAIMS.items():
        comparisons = compare(gathered)
        why = reason(gathered, name, comparisons)
        found.append(Claim(name, text, figure, command(gathered.study, name), tuple(comparisons), why))
    return found


def command(study: Study, claim: str) -> str:
    """What recomputes a claim, with the preset that it is judged with."""
    usual = study_of(study.preset, study.quick)
    seeds = "" if study.seeds == usual.seeds else " --seeds " + ",".join(str(seed) for seed in study.seeds)
    quick = " --quick" if study.quick else ""
    return f"dmafl reproduce{quick} --preset {JUDGED_WITH.get(claim, study.preset)} --only {claim}{seeds}"
