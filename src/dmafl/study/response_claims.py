"""How plans respond to importance and drift: claims C5, C6 and C7."""

from __future__ import annotations

from collections.abc import Mapping
from math import log

import numpy as np

from dmafl.statistics import interval, paired
from dmafl.study.accuracy_claims import accuracies
from dmafl.study.design import DRIFTS, IMPORTANCES, PRINTED_IMPORTANCES, TASKS, TRAINED_IMPORTANCES
from dmafl.study.gathered import BySeed, Gathered
from dmafl.study.results import Outcome
from dmafl.study.verdicts import ABOVE, BELOW, Comparison

LEAST_S = 1e-3
"""Takes the place of a shorter time, so that a task which never idles has a ratio."""


def steps_share(outcome: Outcome, task: str) -> float:
    """The part of all SGD steps that a task gets."""
    return outcome.tasks[task].totals["steps"] / sum(one.totals["steps"] for one in outcome.tasks.values())


def importance_sweep(gathered: Gathered, task: str) -> dict[float, dict[int, Outcome]]:
    """Outcomes by importance of `task`, the others at 1; of each by seed."""
    found = {value: gathered.swept(task, "importance", value) for value in IMPORTANCES}
    return dict(sorted((found | {1.0: gathered.unswept()}).items()))


def trained_importances(gathered: Gathered, task: str) -> dict[float, BySeed]:
    """`task` with its least importance, with 1 and with its largest: those that are trained."""
    sweep = importance_sweep(gathered, task)
    least, most = TRAINED_IMPORTANCES
    return {
        value: {seed: one.tasks[task] for seed, one in sweep[value].items()} for value in (least, 1.0, most)
    }


def drift_sweep(gathered: Gathered, task: str, quantity: str) -> dict[float, dict[int, Outcome]]:
    """Outcomes by drift of `task`, the others without; of each by seed."""
    return {value: gathered.swept(task, quantity, value) for value in DRIFTS}


def c5(gathered: Gathered) -> list[Comparison]:
    """A task's accuracy, energy and share of SGD steps are higher when it is more important."""
    found = []
    least, most = TRAINED_IMPORTANCES
    first, second = f"importance {most:g}", f"importance {least:g}"
    where = gathered.study.main_partition
    for task in TASKS:
        sweep = importance_sweep(gathered, task)
        high, low = sweep[most], sweep[least]
        trained = [
            accuracies({seed: one.tasks[task] for seed, one in side.items() if one.tasks[task].curve})
            for side in (high, low)
        ]
        measures = {measure: (trained[0][measure], trained[1][measure]) for measure in trained[0]}
        measures |= _spent(high, low, task)
        found += [
            Comparison(measure, where, task, first, second, paired(*sides))
            for measure, sides in measures.items()
        ]
        found += [_rises(gathered, task, sweep), *_as_printed(gathered, task)]
    return found


def c6(gathered: Gathered) -> list[Comparison]:
    """Active drift of a task lowers its computation time, and raises the others'."""
    return _response(gathered, "active drift", "compute_s", judged=gathered.study.judges("C6"), others=True)


def c7(gathered: Gathered) -> list[Comparison]:
    """Idle drift of a task lowers its idle time. The others' is only seen: no budget of the study is tight."""
    return _response(gathered, "idle drift", "idle_s", judged=True, others=False)


def _spent(
    high: Mapping[int, Outcome], low: Mapping[int, Outcome], task: str
) -> dict[str, tuple[dict[int, float], dict[int, float]]]:
    """What a task gets in both, by measure and seed."""
    return {
        "log energy": (
            {seed: log(one.tasks[task].total_J) for seed, one in high.items()},
            {seed: log(one.tasks[task].total_J) for seed, one in low.items()},
        ),
        "share of SGD steps": (_shares(high, task), _shares(low, task)),
    }


def _as_printed(gathered: Gathered, task: str) -> list[Comparison]:
    """The paper's own sweep with plans made by its bound as printed: only seen, since plans are not made by it."""
    low, high = (gathered.swept(task, "importance as printed", value) for value in PRINTED_IMPORTANCES)
    least, most = PRINTED_IMPORTANCES
    return [
        Comparison(
            f"{measure}, planned as printed",
            gathered.study.main_partition,
            task,
            f"importance {most:g}",
            f"importance {least:g}",
            paired(*sides),
            judged=False,
        )
        for measure, sides in _spent(high, low, task).items()
    ]


def _shares(outcomes: Mapping[int, Outcome], task: str) -> dict[int, float]:
    return {seed: steps_share(one, task) for seed, one in outcomes.items()}


def _rises(gathered: Gathered, task: str, sweep: Mapping[float, Mapping[int, Outcome]]) -> Comparison:
    """Over all importances in order: steps up of the share minus steps down, per step."""
    shares = [_shares(outcomes, task) for outcomes in sweep.values()]
    seeds = sorted(set.intersection(*(set(one) for one in shares)))
    steps = {seed: np.sign(np.diff([one[seed] for one in shares])).mean() for seed in seeds}
    return Comparison(
        "share of SGD steps: rises minus falls, per step of importance",
        gathered.study.main_partition,
        task,
        "all importances",
        "their order",
        interval(float(value) for value in steps.values()),
    )


def _response(
    gathered: Gathered, quantity: str, total: str, *, judged: bool, others: bool
) -> list[Comparison]:
    """Log ratio of a time of every task, at the largest drift of one task against none; `others` are judged too."""
    most = max(DRIFTS)
    name = {"compute_s": "log computation time", "idle_s": "log idle time"}[total]
    found = []
    for drifting in TASKS:
        sweep = drift_sweep(gathered, drifting, quantity)
        for task in TASKS:
            raised, without = (
                {seed: log(max(one.tasks[task].totals[total], LEAST_S)) for seed, one in sweep[value].items()}
                for value in (most, 0.0)
            )
            found.append(
                Comparison(
                    name if task == drifting else f"{name} while {drifting} drifts",
                    gathered.study.main_partition,
                    task,
                    f"{quantity} {most:g}",
                    "none",
                    paired(raised, without),
                    BELOW if task == drifting else ABOVE,
                    judged=judged and (task == drifting or others),
                    drifting=drifting,
                )
            )
    return found
