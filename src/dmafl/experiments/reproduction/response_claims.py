"""How plans respond to importance and drift: claims C5, C6 and C7."""

from __future__ import annotations

from collections.abc import Mapping
from math import log

import numpy as np

from dmafl.base.statistics import interval, paired
from dmafl.experiments.reproduction.accuracy_claims import accuracies
from dmafl.experiments.reproduction.design import (
    DRIFTS,
    IMPORTANCES,
    PRINTED_IMPORTANCES,
    TASKS,
    TRAINED_IMPORTANCES,
)
from dmafl.experiments.reproduction.outcome import Outcome
from dmafl.experiments.reproduction.study_outcomes import BySeed, StudyOutcomes
from dmafl.experiments.reproduction.verdicts import ABOVE, BELOW, Comparison

LEAST_S = 1e-3
"""Takes the place of a shorter time, so that a task which never idles has a ratio."""


def steps_share(outcome: Outcome, task: str) -> float:
    """The part of all SGD steps that a task gets."""
    return outcome.tasks[task].totals["steps"] / sum(of.totals["steps"] for of in outcome.tasks.values())


def importance_sweep(outcomes: StudyOutcomes, task: str) -> dict[float, dict[int, Outcome]]:
    """Outcomes by importance of `task`, the others at 1; of each by seed."""
    swept = {value: outcomes.swept(task, "importance", value) for value in IMPORTANCES}
    return dict(sorted((swept | {1.0: outcomes.unswept()}).items()))


def trained_importances(outcomes: StudyOutcomes, task: str) -> dict[float, BySeed]:
    """`task` with its least importance, with 1 and with its largest: those that are trained."""
    sweep = importance_sweep(outcomes, task)
    least, most = TRAINED_IMPORTANCES
    return {
        value: {seed: outcome.tasks[task] for seed, outcome in sweep[value].items()}
        for value in (least, 1.0, most)
    }


def drift_sweep(outcomes: StudyOutcomes, task: str, quantity: str) -> dict[float, dict[int, Outcome]]:
    """Outcomes by drift of `task`, the others without; of each by seed."""
    return {value: outcomes.swept(task, quantity, value) for value in DRIFTS}


def c5(outcomes: StudyOutcomes) -> list[Comparison]:
    """A task's accuracy, energy and share of SGD steps are higher when it is more important."""
    comparisons = []
    least, most = TRAINED_IMPORTANCES
    first, second = f"importance {most:g}", f"importance {least:g}"
    where = outcomes.study.main_partition
    for task in TASKS:
        sweep = importance_sweep(outcomes, task)
        high, low = sweep[most], sweep[least]
        trained = [
            accuracies(
                {seed: outcome.tasks[task] for seed, outcome in side.items() if outcome.tasks[task].curve}
            )
            for side in (high, low)
        ]
        measures = {measure: (trained[0][measure], trained[1][measure]) for measure in trained[0]}
        measures |= _spent(high, low, task)
        comparisons += [
            Comparison(measure, where, task, first, second, paired(*sides))
            for measure, sides in measures.items()
        ]
        comparisons += [_rises(outcomes, task, sweep), *_as_printed(outcomes, task)]
    return comparisons


def c6(outcomes: StudyOutcomes) -> list[Comparison]:
    """Active drift of a task lowers its computation time, and raises the others'."""
    return _response(outcomes, "active drift", "compute_s", judged=outcomes.study.judges("C6"), others=True)


def c7(outcomes: StudyOutcomes) -> list[Comparison]:
    """Idle drift of a task lowers its idle time. The others' is only seen: no budget of the study is tight."""
    return _response(outcomes, "idle drift", "idle_s", judged=True, others=False)


def _spent(
    high: Mapping[int, Outcome], low: Mapping[int, Outcome], task: str
) -> dict[str, tuple[dict[int, float], dict[int, float]]]:
    """What a task gets in both, by measure and seed."""
    return {
        "log energy": (
            {seed: log(outcome.tasks[task].total_J) for seed, outcome in high.items()},
            {seed: log(outcome.tasks[task].total_J) for seed, outcome in low.items()},
        ),
        "share of SGD steps": (_shares(high, task), _shares(low, task)),
    }


def _as_printed(outcomes: StudyOutcomes, task: str) -> list[Comparison]:
    """The paper's own sweep with plans made by its bound as printed: only seen, since plans are not made by it."""
    low, high = (outcomes.swept(task, "importance as printed", value) for value in PRINTED_IMPORTANCES)
    least, most = PRINTED_IMPORTANCES
    return [
        Comparison(
            f"{measure}, planned as printed",
            outcomes.study.main_partition,
            task,
            f"importance {most:g}",
            f"importance {least:g}",
            paired(*sides),
            judged=False,
        )
        for measure, sides in _spent(high, low, task).items()
    ]


def _shares(outcomes: Mapping[int, Outcome], task: str) -> dict[int, float]:
    return {seed: steps_share(outcome, task) for seed, outcome in outcomes.items()}


def _rises(outcomes: StudyOutcomes, task: str, sweep: Mapping[float, Mapping[int, Outcome]]) -> Comparison:
    """Over all importances in order: steps up of the share minus steps down, per step."""
    shares = [_shares(by_seed, task) for by_seed in sweep.values()]
    seeds = sorted(set.intersection(*(set(by_seed) for by_seed in shares)))
    steps = {seed: np.sign(np.diff([by_seed[seed] for by_seed in shares])).mean() for seed in seeds}
    return Comparison(
        "share of SGD steps: rises minus falls, per step of importance",
        outcomes.study.main_partition,
        task,
        "all importances",
        "their order",
        interval(float(value) for value in steps.values()),
    )


def _response(
    outcomes: StudyOutcomes, quantity: str, total: str, *, judged: bool, others: bool
) -> list[Comparison]:
    """Log ratio of a time of every task, at the largest drift of one task against none; `others` are judged too."""
    most = max(DRIFTS)
    name = {"compute_s": "log computation time", "idle_s": "log idle time"}[total]
    comparisons = []
    for drifting in TASKS:
        sweep = drift_sweep(outcomes, drifting, quantity)
        for task in TASKS:
            raised, without = (
                {
                    seed: log(max(outcome.tasks[task].totals[total], LEAST_S))
                    for seed, outcome in sweep[value].items()
                }
                for value in (most, 0.0)
            )
            comparisons.append(
                Comparison(
                    name if task == drifting else f"{name} while {drifting} drifts",
                    outcomes.study.main_partition,
                    task,
                    f"{quantity} {most:g}",
                    "none",
                    paired(raised, without),
                    BELOW if task == drifting else ABOVE,
                    judged=judged and (task == drifting or others),
                    drifting=drifting,
                )
            )
    return comparisons
