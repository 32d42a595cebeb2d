"""The run before probes that begin warmed up, and predictions of schedules that go on from there."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dmafl.schedule.predicted_accuracy import CONFIDENCE, PredictedAccuracy
from dmafl.theory.calibrated import Calibration, Prediction, predict
from dmafl.theory.constants import Constants
from dmafl.theory.features import Features, exchange, features, training
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.label_mix import LabelMix
from dmafl.theory.tested_jobs import TestedJobs


@dataclass(frozen=True, eq=False)
class Course:
    """The run before probes that begin warmed up: what it had trained by its end, and tests on the way there."""

    tested: TestedJobs

    @property
    def trained(self) -> float:
        """N of the whole run."""
        return training(self.tested.jobs)

    @property
    def exchanged(self) -> float:
        """V of the whole run."""
        return exchange(self.tested.jobs)


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


def predicted_error(
    jobs: TaskJobs,
    loss: float,
    labels: LabelMix | None,
    calibration: Calibration,
    course: Course | None = None,
) -> float:
    """What the accuracy of a schedule follows from: its error rate; without labels its predicted `loss`."""
    if calibration.error_rate is None or labels is None:
        return loss
    before = (0.0, 0.0) if course is None else (course.trained, course.exchanged)
    return calibration.error_rate.of_jobs(jobs, labels, *before)


def predict_accuracy(
    jobs: TaskJobs,
    constants: Constants,
    labels: LabelMix | None,
    calibration: Calibration,
    confidence: float = CONFIDENCE,
    course: Course | None = None,
) -> PredictedAccuracy | None:
    """The accuracy that a schedule will reach, with an interval; None where the calibration knows no accuracies."""
    if calibration.accuracy is None:
        return None
    loss = predict_jobs(jobs, constants, labels, calibration, course).value
    error = predicted_error(jobs, loss, labels, calibration, course)
    low, high = calibration.accuracy.interval(error, confidence)
    return PredictedAccuracy(loss, calibration.accuracy.at(error), low, high, confidence)
