"""Exact derivatives of the label bias with respect to every job's steps, backwards through all slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.label_bias import class_scores, loss_by_bias_slopes, loss_by_bias_slopes_and_curvature
from dmafl.theory.label_flow import flow
from dmafl.theory.label_mix import LabelMix


@dataclass(frozen=True, eq=False)
class Labelled:
    """Jobs of a task with labels."""

    jobs: TaskJobs
    labels: LabelMix
    response: float

    @property
    def time(self) -> FloatArray:
        """How long each job moves the class scores."""
        return np.asarray(self.response * self.jobs.rate * self.jobs.steps)


def weights_of_slots(slots: int) -> FloatArray:
    """How much the label bias after each slot counts in a plan, (G,); adds up to 1.

    Early models have learnt too little to be biased much, and mix in too much to avoid it: weights rise with the
    square of the slot's number.
    """
    weights = np.arange(1.0, slots + 1.0) ** 2
    return np.asarray(weights / weights.sum())


def scores_of_all(tasks: Sequence[Labelled]) -> list[FloatArray]:
    """Class scores after every slot of each task, (G, C); tasks are followed together, which costs little more."""
    of_tasks: list[FloatArray] = [np.empty(0)] * len(tasks)
    classes = [task.labels.held.shape[1] for task in tasks]
    for count in set(classes):
        alike = [j for j, other in enumerate(classes) if other == count]
        for j, scores in zip(alike, _together([tasks[j] for j in alike]), strict=True):
            of_tasks[j] = scores
    return of_tasks


def _together(tasks: Sequence[Labelled]) -> list[FloatArray]:
    slots = max(len(task.jobs) for task in tasks)
    first = np.cumsum([0] + [len(task.labels.held) for task in tasks])
    device, version = (
        np.zeros((len(tasks), slots), dtype=np.int64),
        np.zeros((len(tasks), slots), dtype=np.int64),
    )
    mix, time = np.zeros((len(tasks), slots)), np.ones((len(tasks), slots))
    for j, task in enumerate(tasks):  # a task with fewer slots ends with some that change nothing
        G = len(task.jobs)
        device[j, :G], version[j, :G] = task.jobs.device + first[j], task.jobs.version
        mix[j, :G], time[j, :G] = task.jobs.mix, task.time
    scores = class_scores(device, version, mix, time, np.concatenate([task.labels.held for task in tasks]))
    return [scores[j, : len(task.jobs)] for j, task in enumerate(tasks)]


def label_slopes(task: Labelled, after: FloatArray) -> FloatArray:
    """Derivatives of the label bias, weighted mean over slots, with respect to each job's steps, (G,).

    `after`: the class scores after every slot.
    """
    return _pulled(task, after, *_of_flow(task, after), loss_by_bias_slopes(after, task.labels.asked))


REACH = 20
"""Slots that feel a job, for the curvature."""


def label_slopes_and_curvature(task: Labelled, after: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
    """The same, and the curvature.

    That is a positive semidefinite estimate of the Hessian, by its diagonals 0, 1, ...: that of the losses, seen
    through scores that are linear in the steps (Gauss-Newton), a job being felt for `REACH` slots.
    """
    of_scores, of_steps = _of_flow(task, after)
    of_loss, bend = loss_by_bias_slopes_and_curvature(after, task.labels.asked)
    slopes = _pulled(task, after, of_scores, of_steps, of_loss)
    return slopes, _band(
        _felt(task.jobs, of_scores, of_steps), bend * weights_of_slots(len(after))[:, None, None]
    )


def _of_flow(task: Labelled, after: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Derivatives of every job's outcome by the scores it received, (G, C, C), and by its steps, (G, C)."""
    jobs, labels = task.jobs, task.labels
    scores = np.concatenate([np.zeros((1, after.shape[1])), after])
    of_scores, of_time = _flow_slopes(scores[jobs.version], labels.held[jobs.device], task.time)
    return of_scores, of_time * (task.response * jobs.rate)[:, None]


def _pulled(
    task: Labelled, after: FloatArray, of_scores: FloatArray, of_steps: FloatArray, of_loss: FloatArray
) -> FloatArray:
    """Derivatives of the mean loss by the steps, backwards through all slots, (G,)."""
    jobs, (G, classes) = task.jobs, after.shape
    pull = np.zeros((G + 1, classes))  # derivative of the mean with respect to the scores of each version
    pull[1:] = of_loss * weights_of_slots(G)[:, None]
    slopes, mix, version = np.empty(G), jobs.mix.tolist(), jobs.version.tolist()
    for k in range(G - 1, -1, -1):
        local = mix[k] * pull[k + 1]
        pull[k] += (1.0 - mix[k]) * pull[k + 1]
        pull[version[k]] += of_scores[k] @ local
        slopes[k] = of_steps[k] @ local
    return slopes


def _felt(jobs: TaskJobs, of_scores: FloatArray, of_steps: FloatArray) -> FloatArray:
    """Derivatives of the scores after slot k with respect to the steps of slot k - j, (G, C, REACH) by k, class, j."""
    G, classes = of_steps.shape
    width = min(REACH, G)
    felt = np.zeros((G + 1, classes, width))  # of version k; lag j: slot k - 1 - j
    mix, version = jobs.mix.tolist(), jobs.version.tolist()
    for k in range(G):
        alpha, late = mix[k], k - version[k]
        felt[k + 1, :, 1:] = (1.0 - alpha) * felt[k, :, :-1]
        if late + 1 < width:
            felt[k + 1, :, late + 1 :] += alpha * (of_scores[k].T @ felt[version[k], :, : width - late - 1])
        felt[k + 1, :, 0] += alpha * of_steps[k]
    return felt[1:]


def _band(felt: FloatArray, bend: FloatArray) -> list[FloatArray]:
    """Diagonals of sum_k felt_k' bend_k felt_k, (G - d,) each."""
    G, _, width = felt.shape
    products = np.swapaxes(felt, 1, 2) @ (bend @ felt)  # (G, lag, lag)
    band = [np.zeros(G - d) for d in range(width)]
    for d in range(width):
        for j in range(d, width):  # slots k - j and k - j + d
            band[d][: G - j] += products[j:, j, j - d]
    return band


_STEP = 1e-5
"""Change of a class score, and relative change of a time, for derivatives of one job's flow."""


def _flow_slopes(x: FloatArray, held: FloatArray, time: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Derivatives of every job's outcome: (G, C, C), by score received then score reached; and by time, (G, C)."""
    G, C = x.shape
    ways = _STEP * np.concatenate([np.eye(C), -np.eye(C)])
    many = (x[:, None, :] + ways).reshape(-1, C)
    out = flow(many, np.repeat(held, 2 * C, axis=0), np.repeat(time, 2 * C)).reshape(G, 2, C, C)
    of_time = (flow(x, held, time * (1.0 + _STEP)) - flow(x, held, time * (1.0 - _STEP))) / (2.0 * _STEP)
    return (out[:, 0] - out[:, 1]) / (2.0 * _STEP), of_time / time[:, None]
