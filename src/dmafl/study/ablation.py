"""What each repair of the quality model buys: plans made with each, trained, compared at equal energy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dmafl.statistics import Interval, interval, paired
from dmafl.study.design import TASKS, VARIANTS
from dmafl.study.gathered import FULL, Gathered


@dataclass(frozen=True)
class Ablation:
    """Plans made with one variant, of one task. Differences are against calibrated and gram, paired by seed."""

    task: str
    quality: str
    dissimilarity: str
    equal_energy_J: Interval
    """Energy at which variants are compared: the smallest final one of a seed."""
    accuracy_at_equal_energy: Interval
    final_accuracy: Interval
    energy_J: Interval
    equal_energy_difference: Interval
    final_difference: Interval
    log_energy_ratio: Interval
    devices: Interval
    """That have a job."""
    steps: Interval
    samples: Interval
    """Of a job."""


def ablation(gathered: Gathered) -> list[Ablation]:
    """All variants that have outcomes, over the seeds that all of these have."""
    rows = []
    for task in TASKS:
        curves = {variant: gathered.variant(*variant, task) for variant in (*VARIANTS, FULL)}
        curves = {variant: found for variant, found in curves.items() if found}
        if FULL not in curves or len(curves) < 2:
            continue
        seeds = sorted(set.intersection(*(set(found) for found in curves.values())))
        if not seeds:
            continue
        equal_J = {seed: min(float(found[seed].energy_J[-1]) for found in curves.values()) for seed in seeds}
        at = {
            variant: {
                seed: float(np.interp(equal_J[seed], found[seed].energy_J, found[seed].curve["accuracy"]))
                for seed in seeds
            }
            for variant, found in curves.items()
        }
        final = {v: {s: float(found[s].curve["accuracy"][-1]) for s in seeds} for v, found in curves.items()}
        spent_J = {v: {s: float(found[s].energy_J[-1]) for s in seeds} for v, found in curves.items()}
        logs = {v: {s: float(np.log(value)) for s, value in own.items()} for v, own in spent_J.items()}
        rows += [
            Ablation(
                task,
                *variant,
                interval(equal_J.values()),
                interval(at[variant].values()),
                interval(final[variant].values()),
                interval(spent_J[variant].values()),
                paired(at[variant], at[FULL]),
                paired(final[variant], final[FULL]),
                paired(logs[variant], logs[FULL]),
                interval(found[seed].totals["devices"] for seed in seeds),
                *(
                    interval(found[seed].totals[name] / found[seed].totals["jobs"] for seed in seeds)
                    for name in ("steps", "samples")
                ),
            )
            for variant, found in curves.items()
        ]
    return rows
