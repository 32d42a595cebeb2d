"""The terms of `sharp` as the calibrated prediction uses them: amount of training, Gram bias, noise, drift."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dmafl.randomness import FloatArray
from dmafl.theory.constants import Constants
from dmafl.theory.drift import drift_of_all, drift_while_under_way
from dmafl.theory.jobs import TaskJobs

MEMORY = 0.9
"""How much of the last slot's shares the next one remembers: an average over about ten slots."""


@dataclass(frozen=True)
class Features:
    """What a prediction needs to know of a schedule."""

    training: float
    """N = sum_k alpha_k eta_k e_k (1 + s_k)^(-1/2)."""
    gram_bias: float
    """Z = mean_k p_k' Gamma p_k."""
    noise: float
    """sum_k share_k (1/B_k - 1/D_k), share_k proportional to alpha_k e_k."""
    drift: float
    """drift_all."""
    window: float
    """Mean over jobs of the drift while they are under way, times 4."""


def features(jobs: TaskJobs, constants: Constants, memory: float = MEMORY) -> Features:
    """The features of a schedule."""
    work = jobs.mix * jobs.steps
    return Features(
        training=float(np.sum(work * jobs.rate / np.sqrt(1.0 + jobs.staleness))),
        gram_bias=float(gram_bias_of_slots(jobs, constants.gram, memory).mean()),
        noise=float(np.sum(work * (1 / jobs.batch - 1 / jobs.samples)) / work.sum()),
        drift=drift_of_all(jobs, constants),
        window=float(4.0 * drift_while_under_way(jobs, constants).mean()),
    )


def gram_bias_of_slots(jobs: TaskJobs, gram: FloatArray, memory: float = MEMORY) -> FloatArray:
    """p_k' Gamma p_k after every slot, p_k[i] proportional to sum_{m<=k} memory^(k-m) alpha_m sqrt(e_m) [i_m = i].

    The quadratic form is carried along, so a slot costs one row of Gamma.
    """
    amount = (jobs.mix * np.sqrt(jobs.steps)).tolist()
    product = np.zeros(len(gram))  # Gamma q
    quadratic = total = 0.0
    out = np.empty(len(jobs))
    for k, i in enumerate(jobs.device.tolist()):
        a = amount[k]
        quadratic = memory**2 * quadratic + 2 * memory * a * float(product[i]) + a * a * float(gram[i, i])
        product = memory * product + a * gram[i]
        total = memory * total + a
        out[k] = quadratic / total**2
    return out
