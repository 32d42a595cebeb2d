"""The error rate of a schedule: how often its model answers wrong, from its class scores and how much it was trained.

A loss alone does not tell an accuracy: a model that lacks a class has a high loss and may still be right nine times of
ten, while one that has trained little is wrong half of the time at the same loss. docs/calibration.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import BoolArray, FloatArray, IntArray
from dmafl.theory.error_rates import ErrorRates
from dmafl.theory.features import exchange_of_jobs, training_of_jobs
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.label_bias import class_scores
from dmafl.theory.label_mix import LabelMix
from dmafl.theory.logistic import sigmoid

_TINY = 1e-12
"""Stands for the share of all other classes where one class has taken everything."""


@dataclass(frozen=True)
class ErrorRate(ErrorRates):
    """Weights of the error rate of one task.

    A class is answered right with probability
    (1 - floor N^-floor_power) * sigmoid((margin + training log N + exchange log V - handicap) / softness):
    its handicap is by how much the other classes lead it in the class scores of the schedule. Without one, what is left
    is the floor, which falls slowly with training.
    """

    response: float
    """How fast class scores follow the labels of a batch, per unit of eta e."""
    training: float
    exchange: float
    """How much log N and log V add to the margin, >= 0."""
    softness: float
    """How much a margin must change to matter, > 0."""
    margin: tuple[float, ...]
    """Lead of each class at N = V = 1."""
    floor: tuple[float, ...]
    """Share of each class that a model with N = 1 answers wrong whatever its margin, >= 0; above 1 it counts as 1."""
    floor_power: float
    """How fast that falls with N, >= 0."""

    def of_slots(
        self,
        jobs: TaskJobs,
        labels: LabelMix,
        counts: IntArray,
        trained: float = 0.0,
        exchanged: float = 0.0,
    ) -> FloatArray:
        """The same after each number of slots, (n,)."""
        seen = Handicaps.of(jobs, labels, self.response, counts, trained, exchanged)
        return np.asarray(1.0 - self.right(seen, labels.asked))

    def right(self, seen: Handicaps, asked: FloatArray) -> FloatArray:
        """Share of right answers, (n,); never below that of guessing."""
        margin = self.training * seen.log_training + self.exchange * seen.log_exchange
        lead = (np.asarray(self.margin) + margin[:, None] - seen.handicap) / self.softness
        at_best = 1.0 - np.minimum(self.floor * np.exp(-self.floor_power * seen.log_training)[:, None], 1.0)
        right = (asked * at_best * sigmoid(lead)).sum(axis=1)
        return np.asarray(np.clip(right, float((asked**2).sum()), 1.0))


@dataclass(frozen=True, eq=False)
class Handicaps:
    """What the error rate needs to know of schedules, one row for each."""

    handicap: FloatArray
    """By how much the other classes lead each class, (n, C)."""
    log_training: FloatArray
    log_exchange: FloatArray

    @classmethod
    def of(
        cls,
        jobs: TaskJobs,
        labels: LabelMix,
        response: float,
        counts: IntArray,
        trained: float = 0.0,
        exchanged: float = 0.0,
    ) -> Handicaps:
        """After each number of slots of a schedule."""
        time = response * jobs.rate * jobs.steps
        scores = class_scores(jobs.device, jobs.version, jobs.mix, time, labels.held)[counts - 1]
        return cls(
            handicap_of(scores),
            np.log(np.cumsum(training_of_jobs(jobs))[counts - 1] + trained),
            np.log(np.cumsum(exchange_of_jobs(jobs))[counts - 1] + exchanged),
        )

    @classmethod
    def joined(cls, parts: list[Handicaps]) -> Handicaps:
        """The rows of all of them."""
        return cls(
            np.concatenate([part.handicap for part in parts]),
            np.concatenate([part.log_training for part in parts]),
            np.concatenate([part.log_exchange for part in parts]),
        )

    def rows(self, which: BoolArray) -> Handicaps:
        """Some of the rows."""
        return Handicaps(self.handicap[which], self.log_training[which], self.log_exchange[which])


def handicap_of(scores: FloatArray) -> FloatArray:
    """By how much the others lead each class: log of their mean exponential, less the class's own score, (n, C)."""
    largest = scores.max(axis=-1, keepdims=True)
    exponential = np.exp(scores - largest)
    others = exponential.sum(axis=-1, keepdims=True) - exponential
    return np.asarray(np.log(others + _TINY) + largest - np.log(max(1, scores.shape[-1] - 1)) - scores)
