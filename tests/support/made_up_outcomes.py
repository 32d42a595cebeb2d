"""Outcomes made by hand, for a study that was never run."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dmafl.experiments.reproduction.design import TASKS, Study
from dmafl.experiments.reproduction.outcome import CURVE, TOTALS, Outcome, TaskOutcome
from dmafl.experiments.reproduction.study_outcomes import StudyOutcomes
from dmafl.experiments.reproduction.study_run import StudyRun
from dmafl.experiments.reproduction.targets import LogRatio, Ratio

STUDY = Study(preset="phone", seeds=(1, 2, 3))
TARGET = 0.5
"""Accuracy that `fedasync` ends with on the tuning seed in `by_scheme`."""
Make = Callable[[StudyRun, str], TaskOutcome]


def task(
    accuracy: tuple[float, ...] | None = (0.0, 0.25, 0.5),
    energy_J: tuple[float, ...] | None = None,
    *,
    computing: float = 0.5,
    floor: float = 0.1,
    **totals: float,
) -> TaskOutcome:
    """A task tested after every aggregation; `accuracy` None: planned only.

    `computing` is the part of the energy that is computing, `floor` what is left of it at the lowest frequency.
    """
    known = dict.fromkeys(TOTALS, 1.0) | totals
    if accuracy is None:
        return TaskOutcome(known, {})
    spent = np.asarray(energy_J if energy_J is not None else np.arange(len(accuracy)), dtype=float)
    curve = {name: np.zeros(len(accuracy)) for name in CURVE}
    curve |= {
        "aggregation": np.arange(len(accuracy), dtype=float),
        "accuracy": np.asarray(accuracy, dtype=float),
        "energy_J": spent,
        "compute_J": computing * spent,
        "floor_J": floor * computing * spent,
    }
    return TaskOutcome(known, curve)


def study_outcomes(make: Make, study: Study = STUDY, groups: tuple[str, ...] | None = None) -> StudyOutcomes:
    """Every run of `groups` (all, by default), with `make(study_run, task)` for each of its tasks."""
    return StudyOutcomes(study, of_study(make, study, groups))


def of_study(make: Make, study: Study = STUDY, groups: tuple[str, ...] | None = None) -> list[Outcome]:
    """The same as a list."""
    return [
        Outcome(study_run, {name: make(study_run, name) for name in TASKS})
        for group in groups or study.groups
        for study_run in study.study_runs(group)
    ]


def by_scheme(
    finals: Mapping[str, float] | None = None, joules: Mapping[str, float] | None = None, **more: Any
) -> Make:
    """Tasks that end with the accuracy and energy of their scheme, otherwise with `TARGET` and 2 J.

    Seeds differ by more than most schemes do, so that only paired differences see an effect.
    """

    def make(study_run: StudyRun, name: str) -> TaskOutcome:
        if not study_run.trained:
            return task(None, **more)
        luck = 0.0 if study_run.seed == STUDY.tuning_seed else 0.1 * study_run.seed
        final = (finals or {}).get(study_run.scheme, TARGET) + luck
        spent_J = (joules or {}).get(study_run.scheme, 2.0) * (1 + luck)
        return task((0.0, 0.5 * final, final), (0.0, 0.5 * spent_J, spent_J), **more)

    return make


def ratio(scheme: str, energy: LogRatio, accuracy: float = TARGET) -> Ratio:
    """What a scheme needs to the highest target of MNIST beside `dma-fl`: the same in energy and time."""
    return Ratio("varied", "mnist", 1.0, accuracy, scheme, energy, energy, energy)
