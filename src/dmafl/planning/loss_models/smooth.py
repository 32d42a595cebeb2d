"""Qualities without the part that has kinks: how much more others' data drift during a job while they compute.

That part is piecewise linear in all times. It is left out of what a solver with derivatives sees, and put back as the
slopes it has at a solution.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.planning.loss_models.label_slopes import Labelled, scores_of_all, weights_of_slots
from dmafl.planning.loss_models.models import Calibrated, Sharp
from dmafl.planning.problem import TaskProblem
from dmafl.schedule.earliest_times import slope_in_lengths
from dmafl.theory.calibrated import predict
from dmafl.theory.constants import Constants
from dmafl.theory.drift import drift_while_under_way
from dmafl.theory.features import features
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.label_bias import loss_by_bias
from dmafl.theory.sharp import sharp


def smooth_value(task: TaskProblem, jobs: TaskJobs, scores: FloatArray | None) -> float:
    """c_1 gamma times the loss, but for how much more others' data drift during a job since they compute.

    `scores`: of the classes, from `scores_of`.
    """
    quality = task.loss_model
    if isinstance(quality, Sharp):
        bound = sharp(jobs, quality.constants)
        return task.weight * (
            bound.value - 4.0 * float(jobs.mix @ _others(jobs, quality.constants)) / bound.steps
        )
    if isinstance(quality, Calibrated):
        th = quality.calibration.weights
        seen = predict(features(jobs, quality.constants), quality.calibration).value
        others = 4.0 * th.window * float(_others(jobs, quality.constants).mean()) if th.window > 0 else 0.0
        label = 0.0
        if scores is not None and quality.labels is not None:
            losses = loss_by_bias(scores, quality.labels.asked)
            label = th.label_bias * float(losses @ weights_of_slots(len(losses)))
        return task.weight * (seen - others + label + quality.concentration_term(jobs))
    return task.weight * quality.value(jobs)


def scores_of(tasks: Sequence[TaskProblem], jobs: Sequence[TaskJobs]) -> list[FloatArray | None]:
    """Class scores after every slot of each task, (G, C); None where labels do not count."""
    known = [labelled(task, own) for task, own in zip(tasks, jobs, strict=True)]
    found = iter(scores_of_all([one for one in known if one is not None]))
    return [None if one is None else next(found) for one in known]


def labelled(task: TaskProblem, jobs: TaskJobs) -> Labelled | None:
    """The jobs with their labels; None where these do not count."""
    quality = task.loss_model
    if not isinstance(quality, Calibrated) or quality.labels is None:
        return None
    if quality.calibration.weights.label_bias <= 0:
        return None
    return Labelled(jobs, quality.labels, quality.calibration.response)


def late_is_good(task: TaskProblem) -> bool:
    """Whether the global loss falls by itself, so that a late end is worth something."""
    quality = task.loss_model
    return isinstance(quality, Calibrated | Sharp) and float(quality.constants.drift_idle.sum()) < 0


def pull_of_others(task: TaskProblem, jobs: TaskJobs) -> FloatArray:
    """Slopes, with respect to each T^C, of what `smooth_value` leaves out, (G,); every slot as early as can be."""
    quality = task.loss_model
    if isinstance(quality, Sharp):
        weight = task.weight * 4.0 * jobs.mix / float(np.sum(jobs.mix * jobs.rate * jobs.steps))
    elif isinstance(quality, Calibrated):
        weight = np.full(len(jobs), task.weight * 4.0 * quality.calibration.weights.window / len(jobs))
    else:
        return np.zeros(len(jobs))
    c = quality.constants
    extra = (c.drift_active_size - c.drift_idle_size)[jobs.device]
    if not (bool((jobs.staleness > 0).any()) and bool(extra.any()) and bool(weight.any())):
        return np.zeros(len(jobs))
    begin, done = jobs.start_s + jobs.download_s, jobs.end_s - jobs.upload_s
    of_end = weight * _inside(begin, done, extra, jobs.end_s)
    of_start = -weight * _inside(begin, done, extra, jobs.start_s)
    of_done = extra * (_inside(jobs.start_s, jobs.end_s, weight, done) - weight)
    of_begin = -extra * (_inside(jobs.start_s, jobs.end_s, weight, begin) - weight)
    of_tau = of_end + of_start + of_done + of_begin
    length = jobs.end_s - jobs.start_s
    return np.asarray(slope_in_lengths(jobs.version, length, of_tau) - of_start - of_begin)


def _others(jobs: TaskJobs, c: Constants) -> FloatArray:
    """By how much others' data drift more during each job since they compute, (G,)."""
    extra = (c.drift_active_size - c.drift_idle_size)[jobs.device]
    if not (bool((jobs.staleness > 0).any()) and bool(extra.any())):
        return np.zeros(len(jobs))
    own = float(c.drift_idle_size.sum()) * (jobs.end_s - jobs.start_s) + extra * jobs.compute_s
    return drift_while_under_way(jobs, c) - own


def _inside(low: FloatArray, high: FloatArray, weight: FloatArray, at: FloatArray) -> FloatArray:
    """Total weight of the intervals that contain each of `at`."""
    total = np.zeros(len(at))
    for edges, sign in ((low, 1.0), (high, -1.0)):
        order = np.argsort(edges, kind="stable")
        passed = np.concatenate([[0.0], np.cumsum(weight[order])])
        total += sign * passed[np.searchsorted(edges[order], at)]
    return total
