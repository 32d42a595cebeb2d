"""The run before probes that begin warmed up, and predictions of schedules that go on from there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dmafl.theory.calibrated import Calibration, Prediction, predict
from dmafl.theory.constants import Constants
from dmafl.theory.features import Features, exchange, features, training
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.label_mix import LabelMix


@dataclass(frozen=True, eq=False)
class Course:
    """The run before probes that begin warmed up: what it had trained by its end, and losses on the way there."""

    jobs: TaskJobs
    slots: Sequence[int]
    losses: Sequence[float]
    """Loss after so many slots."""

    @property
    def trained(self) -> float:
        """N of the whole run."""
        return training(self.jobs)

    @property
    def exchanged(self) -> float:
        """V of the whole run."""
        return exchange(self.jobs)


def trained_before(seen: Features, course: Course | None) -> Features:
    """The features of a schedule that begins after `course`."""
    if course is None:
        return seen
    return replace(seen, training=seen.training + course.trained, exchange=seen.exchange + course.exchanged)


def predict_jobs(
    jobs: TaskJobs,
    constants: Constants,
    labels: LabelMix | None,
    calibration: Calibration,
    course: Course | None = None,
) -> Prediction:
    """The loss that a schedule will reach, term by term; from the first model on, or after `course`."""
    seen = features(jobs, constants, labels, calibration.response)
    return predict(trained_before(seen, course), calibration)
