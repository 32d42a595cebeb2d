"""The label bias of a schedule: class scores that follow the labels of the devices that train, and what they cost."""

from __future__ import annotations

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.label_flow import PIECES, Decay, flow_piece
from dmafl.theory.label_mix import LabelMix

RESPONSE = 40.0
"""How fast class scores follow the labels of a batch, per unit of eta e; it is fitted, since models differ."""
MARGIN = 3.0
"""By how much the score of the right class leads once a model can tell classes apart: small label biases do no harm."""
RECENT = 15
"""Slots at the end over which the label bias counts: those in which the loss reached is measured."""


def label_bias(jobs: TaskJobs, labels: LabelMix, response: float = RESPONSE) -> float:
    """L: loss through label bias, mean over the last slots."""
    return float(label_bias_of_slots(jobs, labels, response)[-RECENT:].mean())


def label_bias_of_slots(jobs: TaskJobs, labels: LabelMix, response: float = RESPONSE) -> FloatArray:
    """Loss through label bias after every slot, (G,)."""
    time = response * jobs.rate * jobs.steps
    return loss_by_bias(class_scores(jobs.device, jobs.version, jobs.mix, time, labels.held), labels.asked)


def class_scores(
    device: IntArray, version: IntArray, mix: FloatArray, time: FloatArray, held: FloatArray
) -> FloatArray:
    """Scores x of the classes in a global model that has learnt nothing but label frequencies, after every slot.

    A job moves the scores along x' = h_i - softmax(x), h_i the labels held by its device, for `time` = response eta e
    from those of the version received, and its outcome is mixed in like a model. All but `held` may carry a leading
    axis, for many schedules at once: they are (..., G), the result is (..., G, C).
    """
    lead, slots, classes = device.shape[:-1], device.shape[-1], held.shape[1]
    rows = np.arange(int(np.prod(lead)))
    received, alpha = version.reshape(-1, slots), mix.reshape(-1, slots)
    decay = Decay.of(held[device.reshape(-1, slots)], time.reshape(-1, slots)[..., None])
    x = np.zeros((len(rows), slots + 1, classes))
    for k in range(slots):
        local = x[rows, received[:, k]]
        for _ in range(PIECES):
            local = flow_piece(local, decay.kept[:, k], decay.grown[:, k]).scores
        x[:, k + 1] = x[:, k] + alpha[:, k, None] * (local - x[:, k])
    return x[:, 1:].reshape(*lead, slots, classes)


def loss_by_bias(scores: FloatArray, asked: FloatArray) -> FloatArray:
    """Cross-entropy that biased class scores add for a classifier whose right class leads by MARGIN, (...,)."""
    x = scores - scores.max(axis=-1, keepdims=True)
    right = np.exp(x)
    others = right.sum(axis=-1, keepdims=True) - right
    loss = ((np.log(right + np.exp(-MARGIN) * others) - x) * asked).sum(axis=-1)
    unbiased = np.log1p((len(asked) - 1) * np.exp(-MARGIN))
    return np.asarray(np.maximum(loss - unbiased, 0.0))


def loss_by_bias_slopes(scores: FloatArray, asked: FloatArray) -> FloatArray:
    """Derivatives of `loss_by_bias` with respect to each score, (G, C)."""
    return _slopes(scores, asked)[0]


def loss_by_bias_slopes_and_curvature(scores: FloatArray, asked: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The same, (G, C), and its Hessian, (G, C, C)."""
    slopes, share, mean = _slopes(scores, asked)
    bend = -np.einsum("c,gcd,gce->gde", asked, share, share)
    bend[:, np.arange(len(asked)), np.arange(len(asked))] += mean
    counts = loss_by_bias(scores, asked) > 0.0
    return slopes, np.where(counts[:, None, None], bend, 0.0)


def _slopes(scores: FloatArray, asked: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The slopes; shares of the classes where each class is right, (G, C, C), by class asked first; their mean."""
    right = np.exp(scores - scores.max(axis=-1, keepdims=True))
    rest = float(np.exp(-MARGIN))
    total = right + rest * (right.sum(axis=-1, keepdims=True) - right)
    weight = rest + (1.0 - rest) * np.eye(len(asked))
    share = weight * right[:, None, :] / total[:, :, None]
    mean = np.einsum("c,gcd->gd", asked, share)
    counts = loss_by_bias(scores, asked) > 0.0
    return np.where(counts[:, None], mean - asked, 0.0), share, mean
