"""The numbers behind the plots of a study's page."""

from __future__ import annotations

from itertools import product
from typing import Any

from dmafl.experiments.reproduction.bands import Band, over_aggregations, over_energy, over_values
from dmafl.experiments.reproduction.design import DRIFT_UNIT, DRIFTS, TASKS, VARIANTS
from dmafl.experiments.reproduction.findings import Findings
from dmafl.experiments.reproduction.names import PARTITION_NAMES, TASK_NAMES
from dmafl.experiments.reproduction.response_claims import (
    drift_sweep,
    importance_sweep,
    steps_share,
    trained_importances,
)
from dmafl.experiments.reproduction.study_outcomes import FULL, StudyOutcomes
from dmafl.experiments.reproduction.targets import SHARES, target
from dmafl.reports.figures.study_responses import relative_times
from dmafl.reports.figures.study_style import SCHEMES, STYLES, TASK_COLOURS, VARIANT_COLOURS
from dmafl.reports.html.rounding import short, shorts
from dmafl.reports.html.study_ratios import ratios_data


def study_data(findings: Findings) -> dict[str, Any]:
    """All of them; schemes, tasks, partitions and variants are numbered."""
    outcomes = findings.outcomes
    return {
        "palette": [
            *(STYLES[scheme]["color"] for scheme in SCHEMES),
            *TASK_COLOURS,
            *VARIANT_COLOURS,
        ],
        "schemes": SCHEMES,
        "tasks": [TASK_NAMES[task] for task in TASKS],
        "variants": [" + ".join(variant) for variant in (*VARIANTS, FULL)],
        "partitions": [PARTITION_NAMES[partition] for partition in outcomes.study.partitions],
        "ratios": ratios_data(findings.ratios, outcomes.study.partitions),
        "curves": _curves(outcomes),
        "targets": _targets(outcomes),
        "importances": _importances(outcomes),
        "shares": _shares(outcomes),
        "drifts": [
            *_drifts(outcomes, "active drift", "compute_s"),
            *_drifts(outcomes, "idle drift", "idle_s"),
        ],
        "ablation": _variants(outcomes),
    }


def _curves(outcomes: StudyOutcomes) -> list[dict[str, Any]]:
    entries = []
    places = product(enumerate(outcomes.study.partitions), enumerate(SCHEMES), enumerate(TASKS))
    for (k, partition), (scheme, name_of_scheme), (task, name_of_task) in places:
        by_seed = outcomes.of(partition, name_of_scheme, name_of_task)
        if by_seed:
            bands = {
                "aggregation": _band(over_aggregations(by_seed)),
                "energy": _band(over_energy(by_seed)),
            }
            entries.append({"partition": k, "scheme": scheme, "task": task, **bands})
    return entries


def _targets(outcomes: StudyOutcomes) -> list[list[list[float | int | None]]]:
    """By partition and task."""
    return [
        [
            [
                short(accuracy)
                for share in SHARES
                if (accuracy := target(outcomes, partition, task, share)) is not None
            ]
            for task in TASKS
        ]
        for partition in outcomes.study.partitions
    ]


def _importances(outcomes: StudyOutcomes) -> list[dict[str, Any]]:
    """Curves of a task with its least importance, with 1 and with its largest."""
    entries = []
    for task, name in enumerate(TASKS):
        for value, by_seed in trained_importances(outcomes, name).items():
            bands = {
                quantity: _band(over_aggregations(by_seed, quantity)) for quantity in ("accuracy", "energy_J")
            }
            entries.append({"task": task, "importance": value, **bands})
    return entries


def _shares(outcomes: StudyOutcomes) -> list[dict[str, Any]]:
    entries = []
    for raised, name in enumerate(TASKS):
        sweep = importance_sweep(outcomes, name)
        for task, name_of_task in enumerate(TASKS):
            numbers = [
                [100 * steps_share(outcome, name_of_task) for outcome in by_seed.values()]
                for by_seed in sweep.values()
            ]
            entries.append({"raised": raised, "task": task, "band": _band(over_values(list(sweep), numbers))})
    return entries


def _drifts(outcomes: StudyOutcomes, quantity: str, total: str) -> list[dict[str, Any]]:
    entries = []
    for raised, name in enumerate(TASKS):
        sweep = drift_sweep(outcomes, name, quantity)
        ticks = [f"{value * DRIFT_UNIT[name]:g}" for value in DRIFTS]
        for task, name_of_task in enumerate(TASKS):
            band = _band(relative_times(sweep, name_of_task, total))
            entries.append(
                {"quantity": quantity, "raised": raised, "task": task, "band": band, "ticks": ticks}
            )
    return entries


def _variants(outcomes: StudyOutcomes) -> list[dict[str, Any]]:
    return [
        {"variant": place, "task": task, "band": _band(over_energy(outcomes.variant(*variant, name_of_task)))}
        for place, variant in enumerate((*VARIANTS, FULL))
        for task, name_of_task in enumerate(TASKS)
    ]


def _band(band: Band | None) -> dict[str, Any] | None:
    if band is None or not len(band.x):
        return None
    return {name: shorts(getattr(band, name)) for name in ("x", "mean", "low", "high")}
