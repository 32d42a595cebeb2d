"""The numbers behind the plots of a study's page."""

from __future__ import annotations

from typing import Any

from dmafl.experiments.reproduction.bands import Band, over_aggregations, over_energy, over_values
from dmafl.experiments.reproduction.design import DRIFT_UNIT, DRIFTS, TASKS, VARIANTS
from dmafl.experiments.reproduction.response_claims import (
    drift_sweep,
    importance_sweep,
    steps_share,
    trained_importances,
)
from dmafl.experiments.reproduction.study_outcomes import FULL, StudyOutcomes
from dmafl.experiments.reproduction.targets import SHARES, target
from dmafl.reports.figures.study_responses import relative_times
from dmafl.reports.figures.study_style import SCHEMES, STYLES, TASK_COLOURS, TASK_NAMES, VARIANT_COLOURS
from dmafl.reports.html.rounding import short, shorts


def study_data(gathered: StudyOutcomes) -> dict[str, Any]:
    """All of them; schemes, tasks, partitions and variants are numbered."""
    return {
        "palette": [
            *(STYLES[scheme]["color"] for scheme in SCHEMES),
            *TASK_COLOURS,
            *VARIANT_COLOURS,
        ],
        "schemes": SCHEMES,
        "tasks": [TASK_NAMES[task] for task in TASKS],
        "variants": [" + ".join(variant) for variant in (*VARIANTS, FULL)],
        "curves": _curves(gathered),
        "targets": _targets(gathered),
        "importances": _importances(gathered),
        "shares": _shares(gathered),
        "drifts": [
            *_drifts(gathered, "active drift", "compute_s"),
            *_drifts(gathered, "idle drift", "idle_s"),
        ],
        "ablation": _variants(gathered),
    }


def _curves(gathered: StudyOutcomes) -> list[dict[str, Any]]:
    found = []
    for partition, name in enumerate(gathered.study.partitions):
        for scheme, called in enumerate(SCHEMES):
            for task, own in enumerate(TASKS):
                of = gathered.of(name, called, own)
                if of:
                    place = {"partition": partition, "scheme": scheme, "task": task}
                    found.append(
                        place
                        | {"aggregation": _band(over_aggregations(of)), "energy": _band(over_energy(of))}
                    )
    return found


def _targets(gathered: StudyOutcomes) -> list[list[list[float | int | None]]]:
    """By partition and task."""
    return [
        [
            [short(found) for share in SHARES if (found := target(gathered, name, task, share)) is not None]
            for task in TASKS
        ]
        for name in gathered.study.partitions
    ]


def _importances(gathered: StudyOutcomes) -> list[dict[str, Any]]:
    """Curves of a task with its least importance, with 1 and with its largest."""
    found = []
    for task, name in enumerate(TASKS):
        for value, own in trained_importances(gathered, name).items():
            bands = {of: _band(over_aggregations(own, of)) for of in ("accuracy", "energy_J")}
            found.append({"task": task, "importance": value, **bands})
    return found


def _shares(gathered: StudyOutcomes) -> list[dict[str, Any]]:
    found = []
    for raised, name in enumerate(TASKS):
        sweep = importance_sweep(gathered, name)
        for task, own in enumerate(TASKS):
            numbers = [[100 * steps_share(one, own) for one in each.values()] for each in sweep.values()]
            found.append({"raised": raised, "task": task, "band": _band(over_values(list(sweep), numbers))})
    return found


def _drifts(gathered: StudyOutcomes, quantity: str, total: str) -> list[dict[str, Any]]:
    found = []
    for raised, name in enumerate(TASKS):
        sweep = drift_sweep(gathered, name, quantity)
        ticks = [f"{value * DRIFT_UNIT[name]:g}" for value in DRIFTS]
        for task, own in enumerate(TASKS):
            band = _band(relative_times(sweep, own, total))
            found.append({"quantity": quantity, "raised": raised, "task": task, "band": band, "ticks": ticks})
    return found


def _variants(gathered: StudyOutcomes) -> list[dict[str, Any]]:
    return [
        {"variant": place, "task": task, "band": _band(over_energy(gathered.variant(*variant, own)))}
        for place, variant in enumerate((*VARIANTS, FULL))
        for task, own in enumerate(TASKS)
    ]


def _band(band: Band | None) -> dict[str, Any] | None:
    if band is None or not len(band.x):
        return None
    return {name: shorts(getattr(band, name)) for name in ("x", "mean", "low", "high")}
