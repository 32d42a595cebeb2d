"""What the calibrated prediction knows of a schedule: training, biases, noise, drift (docs/calibration.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmafl.errors import ShownAsIs, bad_input
from dmafl.randomness import FloatArray
from dmafl.theory.constants import Constants
from dmafl.theory.drift import drift_of_all, drift_while_under_way
from dmafl.theory.gram_bias import MEMORY, gram_bias_of_slots
from dmafl.theory.jobs import TaskJobs

RESPONSE = 40.0
"""How fast class scores follow the labels of a batch, per unit of eta e; it is fitted, since models differ."""
MARGIN = 3.0
"""By how much the score of the right class leads once a model can tell classes apart: small label biases do no harm."""
RECENT = 15
"""Slots at the end over which the label bias counts: those in which the loss reached is measured."""

_PIECES = 2
"""Steps of the flow of one job: within 0.03 of the exact class scores (root mean square)."""
_ROUNDING = 1e-12
"""How far a sum of shares may be from 1."""
_TINY = 1e-9
"""Share of a label that a device does not hold, so that nothing is divided by 0."""


@dataclass(frozen=True, eq=False)
class LabelMix:
    """The labels that devices hold, and those that the model will be asked about."""

    held: FloatArray
    """Share of each label on each device, (I, C)."""
    asked: FloatArray
    """Share of each label in the test data, (C,)."""

    def __post_init__(self) -> None:
        for name, dimensions in (("held", 2), ("asked", 1)):
            shares = np.asarray(getattr(self, name), dtype=np.float64)
            total = shares.sum(axis=-1, keepdims=True) if shares.ndim == dimensions else np.zeros(1)
            if not (np.isfinite(shares).all() and (shares >= 0).all() and (total > 0).all()):
                rule = f"must be shares of labels, >= 0 with a positive sum, in {dimensions} dimensions"
                raise bad_input(f"labels.{name}", rule, ShownAsIs(str(shares)), "Count the labels again.")
            # Shares that add up to 1 stay as they are, so that a file gives back the very numbers.
            object.__setattr__(self, name, np.where(np.abs(total - 1.0) < _ROUNDING, shares, shares / total))
        if self.held.shape[1] != len(self.asked):
            rule = f"must have the {len(self.asked)} labels of the test data"
            raise bad_input("labels.held", rule, self.held.shape[1], "Count the labels again.")


@dataclass(frozen=True)
class Features:
    """What a prediction needs to know of a schedule."""

    training: float
    """N = sum_k alpha_k eta_k e_k (1 + s_k)^(-1/2)."""
    exchange: float
    """V = sum_k alpha_k (1 + s_k)^(-1/2): what was mixed in, however many steps it took."""
    gram_bias: float
    """Z = mean_k p_k' Gamma p_k."""
    label_bias: float
    """L: loss through the label bias of the global model, mean over the last slots; 0 for tasks without labels."""
    noise: float
    """sum_k share_k (1/B_k - 1/D_k), share_k proportional to alpha_k e_k."""
    drift: float
    """drift_all."""
    window: float
    """Mean over jobs of the drift while they are under way, times 4."""


def features(
    jobs: TaskJobs,
    constants: Constants,
    labels: LabelMix | None = None,
    response: float = RESPONSE,
    memory: float = MEMORY,
) -> Features:
    """The features of a schedule; `labels` None for tasks without labels."""
    work = jobs.mix * jobs.steps
    return Features(
        training=training(jobs),
        exchange=exchange(jobs),
        gram_bias=float(gram_bias_of_slots(jobs.device, amount(jobs), constants.gram_factors, memory).mean()),
        label_bias=0.0 if labels is None else label_bias(jobs, labels, response),
        noise=float(np.sum(work * (1 / jobs.batch - 1 / jobs.samples)) / work.sum()),
        drift=drift_of_all(jobs, constants),
        window=float(4.0 * drift_while_under_way(jobs, constants).mean()),
    )


def training(jobs: TaskJobs) -> float:
    """N = sum_k alpha_k eta_k e_k (1 + s_k)^(-1/2)."""
    return float(np.sum(training_of_jobs(jobs)))


def training_of_jobs(jobs: TaskJobs) -> FloatArray:
    """What each job adds to N."""
    return exchange_of_jobs(jobs) * jobs.steps * jobs.rate


def exchange(jobs: TaskJobs) -> float:
    """V = sum_k alpha_k (1 + s_k)^(-1/2)."""
    return float(np.sum(exchange_of_jobs(jobs)))


def exchange_of_jobs(jobs: TaskJobs) -> FloatArray:
    """What each job adds to V."""
    return np.asarray(jobs.mix / np.sqrt(1.0 + jobs.staleness))


def amount(jobs: TaskJobs) -> FloatArray:
    """How much each job counts in the Gram bias: alpha_k sqrt(e_k)."""
    return np.asarray(jobs.mix * np.sqrt(jobs.steps))


def label_bias(jobs: TaskJobs, labels: LabelMix, response: float = RESPONSE) -> float:
    """L: loss through label bias, mean over the last slots."""
    return float(label_bias_of_slots(jobs, labels, response)[-RECENT:].mean())


def label_bias_of_slots(jobs: TaskJobs, labels: LabelMix, response: float = RESPONSE) -> FloatArray:
    """Loss through label bias after every slot, (G,)."""
    time = response * jobs.rate * jobs.steps
    return loss_by_bias(class_scores(jobs.device, jobs.version, jobs.mix, time, labels.held), labels.asked)


def class_scores(
    device: NDArray[np.int64], version: NDArray[np.int64], mix: FloatArray, time: FloatArray, held: FloatArray
) -> FloatArray:
    """Scores x of the classes in a global model that has learnt nothing but label frequencies, after every slot.

    A job moves the scores along x' = h_i - softmax(x), h_i the labels held by its device, for `time` = response eta e
    from those of the version received, and its outcome is mixed in like a model. All but `held` may carry a leading
    axis, for many schedules at once: they are (..., G), the result is (..., G, C).
    """
    lead, slots, classes = device.shape[:-1], device.shape[-1], held.shape[1]
    rows = np.arange(int(np.prod(lead)))
    received, alpha = version.reshape(-1, slots), mix.reshape(-1, slots)
    h = np.maximum(held, _TINY)[device.reshape(-1, slots)]
    path = h * (time.reshape(-1, slots) / _PIECES)[..., None]
    kept, grown = np.exp(-path), -np.expm1(-path) / h
    x = np.zeros((len(rows), slots + 1, classes))
    for k in range(slots):
        local = x[rows, received[:, k]]
        for _ in range(_PIECES):
            local = _flow(local, kept[:, k], grown[:, k])
        x[:, k + 1] = x[:, k] + alpha[:, k, None] * (local - x[:, k])
    return x[:, 1:].reshape(*lead, slots, classes)


def flow(x: FloatArray, held: FloatArray, time: FloatArray) -> FloatArray:
    """Class scores x (n, C) after x' = h - softmax(x) for `time` (n,), h = `held` (n, C)."""
    h = np.maximum(held, _TINY)
    path = h * (time / _PIECES)[:, None]
    kept, grown = np.exp(-path), -np.expm1(-path) / h
    for _ in range(_PIECES):
        x = _flow(x, kept, grown)
    return x


def loss_by_bias(scores: FloatArray, asked: FloatArray) -> FloatArray:
    """Cross-entropy that biased class scores add for a classifier whose right class leads by MARGIN, (...,)."""
    x = scores - scores.max(axis=-1, keepdims=True)
    own = np.exp(x)
    others = own.sum(axis=-1, keepdims=True) - own
    loss = ((np.log(own + np.exp(-MARGIN) * others) - x) * asked).sum(axis=-1)
    unbiased = np.log1p((len(asked) - 1) * np.exp(-MARGIN))
    return np.asarray(np.maximum(loss - unbiased, 0.0))


def _flow(x: FloatArray, kept: FloatArray, grown: FloatArray) -> FloatArray:
    """Scores after a piece of x' = h - softmax(x); kept = exp(-h t), grown = (1 - exp(-h t)) / h.

    With the normaliser of softmax held at 1/v every class follows a logistic equation, x(t) = x - log(kept + e^x v
    grown). One Newton step moves v towards the value at which the sum of the scores stays, as it does in the flow.
    """
    weight = np.exp(x - x.max(axis=-1, keepdims=True))
    v: Any = 1.0 / weight.sum(axis=-1, keepdims=True)
    reached = kept + weight * v * grown
    off = np.log(reached).sum(axis=-1, keepdims=True)
    slope = (weight * grown / reached).sum(axis=-1, keepdims=True)
    v = np.maximum(v - off / slope, 0.2 * v)
    return np.asarray(x - np.log(kept + weight * v * grown))
