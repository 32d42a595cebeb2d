"""What a schedule is predicted to reach, by the calibration of its task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.planning.task_estimates import TaskEstimates
from dmafl.schedule.predicted_accuracy import CONFIDENCE, PredictedAccuracy
from dmafl.theory.calibration_files import plain_calibration
from dmafl.theory.course import predict_accuracy, predict_jobs
from dmafl.theory.course import predicted_error as error_of_schedule
from dmafl.theory.error_model import trains_proxy
from dmafl.theory.jobs import TaskJobs


def predicted_loss(estimates: TaskEstimates, jobs: TaskJobs) -> float | None:
    """The loss that jobs of a task are predicted to reach; None without a calibration."""
    if estimates.calibration is None:
        return None
    constants = estimates.prediction if estimates.prediction is not None else estimates.constants
    return predict_jobs(jobs, constants, estimates.labels, estimates.calibration).value


def predicted_error(estimates: TaskEstimates, jobs: TaskJobs, *, of_loss: bool = False) -> float | None:
    """What the accuracy of jobs follows from, an error rate or a loss; with `of_loss` the loss itself."""
    loss = predicted_loss(estimates, jobs)
    if loss is None or estimates.calibration is None or of_loss:
        return loss
    return error_of_schedule(jobs, loss, estimates.labels, estimates.calibration)


def errors_after(estimates: TaskEstimates, jobs: TaskJobs, counts: IntArray) -> FloatArray | None:
    """Predicted error rates after these numbers of slots; None where accuracies do not follow from error rates."""
    calibration, labels = estimates.calibration, estimates.labels
    if calibration is None or calibration.error_rate is None or labels is None:
        return None
    return calibration.error_rate.of_slots(jobs, labels, counts)


def by_proxy(estimates: TaskEstimates) -> bool:
    """Whether accuracies are predicted by a proxy model, which has to be trained for each schedule."""
    calibration = estimates.calibration
    return calibration is not None and trains_proxy(calibration.error_rate)


def predicted_accuracy(
    estimates: TaskEstimates, jobs: TaskJobs, confidence: float = CONFIDENCE
) -> PredictedAccuracy | None:
    """Loss and accuracy that jobs of a task are predicted to reach; None where the calibration knows no accuracies."""
    if estimates.calibration is None:
        return None
    constants = estimates.prediction if estimates.prediction is not None else estimates.constants
    return predict_accuracy(jobs, constants, estimates.labels, estimates.calibration, confidence)


def plain_calibrations(estimates: Mapping[str, TaskEstimates]) -> dict[str, Any]:
    """What a plan file says of every task: enough to evaluate its predicted loss and accuracy again."""
    tasks = {}
    for name, known in estimates.items():
        calibration = known.calibration
        plain = None if calibration is None else plain_calibration(calibration, samples=False)
        tasks[name] = {"calibration": plain}
    return tasks
