"""The proxy model of a linear task: a small linear model that is trained under a schedule, to predict its accuracy.

Its samples have about thirty features in place of hundreds, and a device has two hundred of them, so that a schedule of
a hundred slots is trained in some hundredths of a second. It knows what formulas of a schedule do not: which classes
are alike, and how far local training takes a model away from classes that a device does not hold. docs/calibration.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.theory.error_rates import ErrorRates
from dmafl.theory.features import exchange_of_jobs
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.label_mix import LabelMix
from dmafl.theory.logistic import logit, sigmoid
from dmafl.theory.proxy_data import ProxyData

SAMPLES = 200
"""Samples of a device."""
MOST_STEPS = 24
"""Steps of a job in the proxy; a job with more of them takes larger ones."""
SOFTNESS = 0.1
"""Leads of the right class below this are half right, half wrong: accuracies change smoothly with a schedule."""


class LocalSet(NamedTuple):
    """The samples of a device."""

    samples: FloatArray
    """(n, d)."""
    turned: FloatArray
    """The same, (d, n)."""
    right: FloatArray
    """1 for the class of each sample, (n, C)."""
    weight: FloatArray
    """Of each sample, (n, 1); they add up to 1."""


@dataclass(frozen=True, eq=False)
class ProxyModel(ErrorRates):
    """Predicts the error rate of a schedule from the accuracy p that a small model reaches under it.

    logit(accuracy of the task) = offset + slope logit(p) + exchange log V.
    """

    data: ProxyData
    offset: float = 0.0
    slope: float = 1.0
    exchange: float = 0.0
    """How the accuracy of the task follows that of the proxy: fitted to probes; slope and exchange >= 0."""

    def of_slots(
        self,
        jobs: TaskJobs,
        labels: LabelMix,
        counts: IntArray,
        trained: float = 0.0,
        exchanged: float = 0.0,
    ) -> FloatArray:
        """The same after each number of slots, (n,)."""
        del trained  # the proxy trains by itself
        return 1.0 - self.right(self.accuracies(jobs, labels, counts), log_exchange(jobs, counts, exchanged))

    def right(self, accuracies: FloatArray, log_exchange: FloatArray) -> FloatArray:
        """Share of right answers of the task that goes with that of the proxy, (n,)."""
        lead = self.offset + self.slope * logit(accuracies) + self.exchange * log_exchange
        return sigmoid(lead)

    def accuracies(self, jobs: TaskJobs, labels: LabelMix, counts: IntArray) -> FloatArray:
        """Share of right answers of the proxy itself after each number of slots, (n,); 0 where it has diverged."""
        with np.errstate(over="ignore", invalid="ignore"):
            models = self.trained(jobs, labels)
            right = [self._accuracy(models[count], labels.asked) for count in counts.tolist()]
        return np.asarray(np.nan_to_num(np.asarray(right), nan=0.0))

    def trained(self, jobs: TaskJobs, labels: LabelMix) -> FloatArray:
        """The global model of the proxy before the first slot and after every one, (G + 1, d, C)."""
        local = self.local_sets(labels, jobs.device)
        models = np.zeros((len(jobs) + 1, self._train.shape[-1], self.data.classes))
        for k, (device, version, steps) in enumerate(
            zip(jobs.device.tolist(), jobs.version.tolist(), jobs.steps.tolist(), strict=True)
        ):
            received = models[version]
            count = max(1, min(round(steps), MOST_STEPS))
            step = float(jobs.rate[k]) * steps / count
            moved = _local(received, local[device], count, step, jobs.proximal)
            models[k + 1] = models[k] + jobs.mix[k] * (moved - models[k])
        return models

    def local_sets(self, labels: LabelMix, devices: IntArray) -> dict[int, LocalSet]:
        """Samples of the devices that take part: of each class as many as their labels say."""
        held, most = labels.held, self._train.shape[1]
        counts = np.clip(np.rint(held * SAMPLES).astype(np.int64), (held > 0).astype(np.int64), most)
        first = (np.cumsum(counts, axis=0) - counts) % most
        sets = {}
        for device in np.unique(devices).tolist():
            classes = np.repeat(np.arange(self.data.classes), counts[device])
            rows = np.concatenate(
                [
                    np.arange(start, start + count) % most
                    for start, count in zip(first[device], counts[device], strict=True)
                ]
            )
            samples = self._train[classes, rows]
            weight = (held[device] / np.maximum(counts[device], 1))[classes][:, None]
            right = np.eye(self.data.classes)[classes]
            sets[device] = LocalSet(samples, np.ascontiguousarray(samples.T), right, weight)
        return sets

    @cached_property
    def _train(self) -> FloatArray:
        return self.data.train_samples()

    @cached_property
    def _test(self) -> FloatArray:
        return self.data.test_samples()

    def _accuracy(self, model: FloatArray, asked: FloatArray) -> float:
        """Share of right answers on the samples to test with, classes as they are asked for."""
        scores = self._test @ model
        every = np.arange(self.data.classes)
        right = scores[every, :, every]
        scores[every, :, every] = -np.inf
        lead = (right - scores.max(axis=-1)) / SOFTNESS
        return float(asked @ sigmoid(lead).mean(axis=1))


def _local(received: FloatArray, local: LocalSet, steps: int, step: float, proximal: float) -> FloatArray:
    """The local model: gradient steps on all samples of the device, with the proximal term."""
    model = received.copy()
    weight = step * local.weight
    for _ in range(steps):
        share = local.samples @ model
        share -= share.max(axis=1, keepdims=True)
        np.exp(share, out=share)
        share /= share.sum(axis=1, keepdims=True)
        share -= local.right
        share *= weight
        if proximal:
            model -= step * proximal * (model - received)
        model -= local.turned @ share
    return model


def steps_of_jobs(jobs: TaskJobs) -> int:
    """Gradient steps that the proxy takes under a schedule."""
    return int(np.clip(np.rint(jobs.steps), 1, MOST_STEPS).sum())


def log_exchange(jobs: TaskJobs, counts: IntArray, exchanged: float = 0.0) -> FloatArray:
    """log V after each number of slots, (n,)."""
    return np.log(np.cumsum(exchange_of_jobs(jobs))[counts - 1] + exchanged)
