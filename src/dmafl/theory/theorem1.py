"""`printed`: Theorem 1 as the paper's main text prints it, term by term."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.theory.constants import Constants
from dmafl.theory.jobs import TaskJobs

MAX_LOG = math.log(1e300)
"""Above this the value of term (e) is shown as infinite; its logarithm stays exact."""


@dataclass(frozen=True)
class Theorem1Bound:
    """Terms (a) to (f) of Theorem 1. `log_e` is the logarithm of term (e), which grows like (K alpha)^G."""

    a: float
    b: float
    c: float
    d: float
    e: float
    f: float
    log_e: float
    rate_is_small: bool
    """Whether eta < 1 / (2 beta), which the proof needs."""

    @property
    def value(self) -> float:
        """The bound on the mean squared gradient norm."""
        return self.a + self.b + self.c + self.d + self.e + self.f

    @property
    def log_value(self) -> float:
        """Logarithm of the bound, also where it is too large for a number."""
        if math.isfinite(self.value):
            return math.log(self.value) if self.value > 0 else -math.inf
        rest = self.a + self.b + self.c + self.d + self.f
        return float(np.logaddexp(self.log_e, math.log(rest) if rest > 0 else -np.inf))

    def terms(self) -> dict[str, float]:
        """The terms by name."""
        return {name: getattr(self, name) for name in "abcdef"}


def theorem1(jobs: TaskJobs, constants: Constants, alpha: float) -> Theorem1Bound:
    """Theorem 1, Eq. (weighted_sum_weight_local_number_updates_concept_drift_integration_y).

    e^max and K are the schedule's own largest steps and staleness; rho is the weak convexity, Theta one for all
    devices, and the loss after the last slot is replaced by its lower estimate.
    """
    c, G = constants, len(jobs)
    eta, e, B, D = jobs.rate, jobs.steps, jobs.batch, jobs.samples
    low, rho, beta, V1, V2 = (
        float(eta.min()),
        c.weak_convexity,
        c.smoothness,
        c.gradient_bound,
        c.regularised_gradient_bound,
    )
    per_slot = 1.0 / (G * low)
    dissimilarity, variance = c.dissimilarity[jobs.device], c.sample_variance[jobs.device]
    sampling = (1 - B / D) * (D - 1) * c.variability**2 / (B * D) * variance
    idle_s = jobs.idle_s + jobs.download_s + jobs.upload_s
    drift = c.drift_active[jobs.device] * jobs.compute_s + c.drift_idle[jobs.device] * idle_s
    log_e = _log_staleness_term(jobs, beta, V1, V2, alpha) + math.log(per_slot)
    return Theorem1Bound(
        a=2.0 / (G * alpha * low) * (c.first_loss - c.lowest_loss),
        b=per_slot * float(np.sum(eta * e * dissimilarity)),
        c=4.0 * beta * per_slot * float(np.sum(eta**2 * e * sampling)),
        d=2.0 * rho * per_slot * float(np.sum(eta**2 * e * V2 * (rho / 2 * eta * (e - 1) + e))),
        e=math.exp(log_e) if log_e < MAX_LOG else math.inf,
        f=2.0 * per_slot * float(np.sum(drift)),
        log_e=log_e,
        rate_is_small=bool(eta.max() < 1.0 / (2.0 * beta)) if beta > 0 else True,
    )


def noise_factor(
    constants: Constants, rate: FloatArray | float, samples: FloatArray, variance: FloatArray
) -> FloatArray:
    """What e (1/B - 1/D) of a job adds to the sum of term (c) of Theorem 1: 4 beta eta^2 (D - 1) / D Theta^2 S."""
    spread = (samples - 1) / samples * constants.variability**2 * variance
    return np.asarray(4.0 * constants.smoothness * rate**2 * spread)


def local_term(
    constants: Constants, rate: FloatArray | float, e: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What a job adds to the sum of term (d) of Theorem 1, and its first and second derivative in the steps e."""
    rho = constants.weak_convexity
    factor = 2.0 * rho * rate**2 * constants.regularised_gradient_bound
    return (
        np.asarray(factor * e * (rho / 2 * rate * (e - 1) + e)),
        np.asarray(factor * (rho * rate * (e - 0.5) + 2 * e)),
        np.asarray(2.0 * factor * (rho / 2 * rate + 1.0) * np.ones_like(e)),
    )


def _log_staleness_term(jobs: TaskJobs, beta: float, V1: float, V2: float, alpha: float) -> float:
    """Logarithm of the sum in term (e), with the limit at K alpha = 1 and no overflow at large G."""
    stale = int(jobs.staleness.max(initial=0))
    if stale == 0 or V2 == 0:
        return -math.inf
    base = stale * alpha
    log_common = math.log(base * float(jobs.steps.max()) ** 2 * float(jobs.rate.max()) ** 2 * V2)
    log_geometric = _log_geometric(base, np.arange(len(jobs), dtype=np.float64))
    parts = [math.log(beta + 2) + log_common + log_geometric]
    if V1 > 0:
        parts.append(0.5 * (math.log(4 * V1) + log_common + log_geometric))
    return float(np.logaddexp.reduce(np.concatenate(parts)))


def _log_geometric(base: float, power: FloatArray) -> FloatArray:
    """log((base^g - 1) / (base - 1)) for every g; the limit log(g) at base = 1, -inf at g = 0."""
    with np.errstate(divide="ignore"):
        if abs(base - 1.0) < 1e-9:
            return np.log(power)
        grown = power * math.log(base)
        # log|base^g - 1| without forming base^g
        log_top = np.where(
            grown > 0, grown + np.log1p(-np.exp(-np.abs(grown))), np.log(-np.expm1(np.minimum(grown, 0.0)))
        )
        return np.asarray(log_top - math.log(abs(base - 1.0)))
