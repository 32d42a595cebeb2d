"""What each improvement of the loss model gains: plans made with each, trained, compared at equal energy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dmafl.base.statistics import Interval, interval, paired
from dmafl.experiments.reproduction.design import TASKS, VARIANTS
from dmafl.experiments.reproduction.study_outcomes import FULL, BySeed, StudyOutcomes


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


def ablation(outcomes: StudyOutcomes) -> list[Ablation]:
    """All variants that have outcomes, over the seeds that all of these have."""
    return [row for task in TASKS for row in _of_task(outcomes, task)]


def _of_task(outcomes: StudyOutcomes, task: str) -> list[Ablation]:
    variants = {variant: outcomes.variant(*variant, task) for variant in (*VARIANTS, FULL)}
    variants = {variant: by_seed for variant, by_seed in variants.items() if by_seed}
    if FULL not in variants or len(variants) < 2:
        return []
    seeds = sorted(set.intersection(*(set(by_seed) for by_seed in variants.values())))
    if not seeds:
        return []
    equal_J = {
        seed: min(float(by_seed[seed].energy_J[-1]) for by_seed in variants.values()) for seed in seeds
    }
    reached = {variant: _Reached.of(by_seed, equal_J) for variant, by_seed in variants.items()}
    return [
        Ablation(
            task,
            *variant,
            interval(equal_J.values()),
            interval(reached[variant].at_equal_energy.values()),
            interval(reached[variant].final.values()),
            interval(reached[variant].spent_J.values()),
            paired(reached[variant].at_equal_energy, reached[FULL].at_equal_energy),
            paired(reached[variant].final, reached[FULL].final),
            paired(reached[variant].log_spent, reached[FULL].log_spent),
            interval(by_seed[seed].totals["devices"] for seed in seeds),
            _per_job(by_seed, seeds, "steps"),
            _per_job(by_seed, seeds, "samples"),
        )
        for variant, by_seed in variants.items()
    ]


@dataclass(frozen=True)
class _Reached:
    """Accuracies and energies of one variant, by seed."""

    at_equal_energy: dict[int, float]
    final: dict[int, float]
    spent_J: dict[int, float]

    @classmethod
    def of(cls, by_seed: BySeed, equal_J: Mapping[int, float]) -> _Reached:
        """Read off the curves of the seeds that have an energy to compare at."""
        curves = {seed: (by_seed[seed].energy_J, by_seed[seed].curve["accuracy"]) for seed in equal_J}
        return cls(
            {seed: float(np.interp(equal_J[seed], *curve)) for seed, curve in curves.items()},
            {seed: float(accuracy[-1]) for seed, (_, accuracy) in curves.items()},
            {seed: float(energy_J[-1]) for seed, (energy_J, _) in curves.items()},
        )

    @property
    def log_spent(self) -> dict[int, float]:
        """Log of the energy of the whole run."""
        return {seed: float(np.log(energy_J)) for seed, energy_J in self.spent_J.items()}


def _per_job(by_seed: BySeed, seeds: Sequence[int], total: str) -> Interval:
    return interval(by_seed[seed].totals[total] / by_seed[seed].totals["jobs"] for seed in seeds)
