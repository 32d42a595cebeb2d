"""Exact derivatives of the label bias with respect to every job's steps, backwards through all slots."""

from __future__ import annotations

import numpy as np

from dmafl.randomness import FloatArray
from dmafl.theory.features import MARGIN, LabelMix, class_scores, flow
from dmafl.theory.jobs import TaskJobs

_STEP = 1e-5
"""Change of a class score, and relative change of a time, for derivatives of one job's flow."""


def label_slopes(jobs: TaskJobs, labels: LabelMix, response: float) -> FloatArray:
    """Derivatives of the label bias, mean over slots, with respect to each job's steps, (G,)."""
    G, classes = len(jobs), labels.held.shape[1]
    time = response * jobs.rate * jobs.steps
    after = class_scores(jobs.device, jobs.version, jobs.mix, time, labels.held)
    scores = np.concatenate([np.zeros((1, classes)), after])
    of_scores, of_time = _flow_slopes(scores[jobs.version], labels.held[jobs.device], time)
    pull = np.zeros((G + 1, classes))  # derivative of the mean with respect to the scores of each version
    pull[1:] = _loss_slopes(after, labels.asked) / G
    slopes, mix, version = np.empty(G), jobs.mix.tolist(), jobs.version.tolist()
    for k in range(G - 1, -1, -1):
        local = mix[k] * pull[k + 1]
        pull[k] += (1.0 - mix[k]) * pull[k + 1]
        pull[version[k]] += of_scores[k] @ local
        slopes[k] = of_time[k] @ local
    return np.asarray(slopes * response * jobs.rate)


def _flow_slopes(x: FloatArray, held: FloatArray, time: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Derivatives of every job's outcome: (G, C, C), by score received then score reached; and by time, (G, C)."""
    G, C = x.shape
    ways = _STEP * np.concatenate([np.eye(C), -np.eye(C)])
    many = (x[:, None, :] + ways).reshape(-1, C)
    out = flow(many, np.repeat(held, 2 * C, axis=0), np.repeat(time, 2 * C)).reshape(G, 2, C, C)
    of_time = (flow(x, held, time * (1.0 + _STEP)) - flow(x, held, time * (1.0 - _STEP))) / (2.0 * _STEP)
    return (out[:, 0] - out[:, 1]) / (2.0 * _STEP), of_time / time[:, None]


def _loss_slopes(scores: FloatArray, asked: FloatArray) -> FloatArray:
    """Derivatives of `loss_by_bias` with respect to each score, (G, C)."""
    own = np.exp(scores - scores.max(axis=-1, keepdims=True))
    rest = float(np.exp(-MARGIN))
    total = own + rest * (own.sum(axis=-1, keepdims=True) - own)
    each = asked / total
    slopes = own * ((1.0 - rest) * each + rest * each.sum(axis=-1, keepdims=True)) - asked
    loss = (np.log(total / own) * asked).sum(axis=-1) - np.log1p((len(asked) - 1) * rest)
    return np.where(loss[:, None] > 0.0, slopes, 0.0)
