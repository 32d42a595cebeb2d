"""What the calibrated prediction knows of a schedule: training, biases, noise, drift (docs/calibration.md)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.theory.constants import Constants
from dmafl.theory.drift import drift_of_all, drift_while_under_way
from dmafl.theory.gram_bias import MEMORY, gram_bias_of_slots
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.label_bias import RESPONSE, label_bias
from dmafl.theory.label_mix import LabelMix


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
    return exchange_weight(jobs.mix, jobs.staleness)


def exchange_weight(mix: FloatArray, staleness: FloatArray | IntArray) -> FloatArray:
    """alpha (1 + s)^(-1/2): what a job with this weight and staleness mixes in."""
    return np.asarray(mix / np.sqrt(1.0 + staleness))


def amount(jobs: TaskJobs) -> FloatArray:
    """How much each job counts in the Gram bias: alpha_k sqrt(e_k)."""
    return np.asarray(jobs.mix * np.sqrt(jobs.steps))
