"""`sharp`: our repaired and tightened form of Theorem 1, for every step of every job. docs/theory.md derives it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.theory.constants import Constants
from dmafl.theory.drift import drift_of_all, drift_while_under_way
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.movement import movement, movement_adjoint
from dmafl.theory.step_bias import bias, bias_slope_coefficients, drag
from dmafl.theory.terms import SumOfTerms


@dataclass(frozen=True)
class SharpBound(SumOfTerms):
    """Num / N, with the terms of Num apart. All are >= 0 but `drift`, which is signed."""

    steps: float
    """N = sum_k alpha_k eta_k e_k: all gradients, weighted."""
    start: float
    """2 (F(w0) - F*)."""
    drift: float
    """2 drift_all."""
    bias: float
    noise: float
    curvature: float
    local: float
    """Movement of local models, 2 rho_w eta^2 V_2 e^2."""
    staleness: float
    """2 sqrt(V_1) d_k + (beta + 2 rho_w) d_k^2."""
    window: float

    def terms(self) -> dict[str, float]:
        """The terms by name, each over N; they add up to the bound."""
        names = ("start", "drift", "bias", "noise", "curvature", "local", "staleness", "window")
        return {name: getattr(self, name) / self.steps for name in names}


def steps_taken(jobs: TaskJobs) -> float:
    """N = sum_k alpha_k eta_k e_k."""
    return float(np.sum(jobs.mix * jobs.rate * jobs.steps))


def sharp(jobs: TaskJobs, constants: Constants) -> SharpBound:
    """(1/N) sum_k alpha_k eta_k sum_l E||grad F(w_k^l)||^2 <= Num / N, F the loss at the time of that step."""
    c = constants
    return SharpBound(
        steps=steps_taken(jobs),
        start=2.0 * (c.first_loss - c.lowest_loss),
        drift=2.0 * drift_of_all(jobs, c),
        **{name: float(np.sum(each)) for name, each in terms_of_jobs(jobs, c).items()},
    )


def terms_of_jobs(jobs: TaskJobs, constants: Constants) -> dict[str, FloatArray]:
    """What each job adds to the terms of Num that are sums over jobs, by name, (G,) each."""
    c = constants
    alpha, eta, e = jobs.mix, jobs.rate, jobs.steps
    beta, rho_w, V1, V2 = c.smoothness, c.weak_convexity, c.gradient_bound, c.regularised_gradient_bound
    d = movement(jobs, np.sqrt(V2))
    variance = c.variability**2 * c.sample_variance[jobs.device]
    return {
        "bias": alpha * eta * bias(e, c.dissimilarity[jobs.device], drag(jobs.proximal, eta, V2)),
        "noise": alpha * beta * eta**2 * e * (1 / jobs.batch - 1 / jobs.samples) * variance,
        "curvature": alpha * e * np.maximum(0.0, beta * eta**2 - eta) * V2,
        "local": alpha * 2 * rho_w * eta**2 * V2 * e**2,
        "staleness": alpha * (2 * np.sqrt(V1) * d + (beta + 2 * rho_w) * d**2),
        "window": alpha * 4.0 * drift_while_under_way(jobs, c),
    }


def noise_factor(constants: Constants, rate: FloatArray | float, sample_variance: FloatArray) -> FloatArray:
    """What e (1/B - 1/D) of a job adds to Num for a unit of alpha: beta eta^2 Theta^2 S."""
    return np.asarray(constants.smoothness * rate**2 * constants.variability**2 * sample_variance)


def slope_in_steps(
    jobs: TaskJobs, constants: Constants, delta: FloatArray, variance: FloatArray, batch: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Derivative of Num with respect to each job's steps, but for staleness: a + b e + c e^2, as (a, b, c).

    `delta`, `variance` (Theta^2 S) and `batch` are those of the jobs, or of other devices in their place.
    """
    c, alpha, eta = constants, jobs.mix, jobs.rate
    V2 = c.regularised_gradient_bound
    of_bias = bias_slope_coefficients(delta, drag(jobs.proximal, eta, V2))
    noise = c.smoothness * eta**2 * (1 / batch - 1 / jobs.samples) * variance
    curvature = np.maximum(0.0, c.smoothness * eta**2 - eta) * V2
    linear = eta * of_bias[1] + 4 * c.weak_convexity * eta**2 * V2
    return alpha * (eta * of_bias[0] + noise + curvature), alpha * linear, alpha * eta * of_bias[2]


def sharp_staleness_slope(jobs: TaskJobs, constants: Constants) -> FloatArray:
    """Derivative of Num's staleness term with respect to each job's steps: it moves the models of others, (G,)."""
    c = constants
    norm = float(np.sqrt(c.regularised_gradient_bound))
    d = movement(jobs, norm)
    weight = 2 * np.sqrt(c.gradient_bound) + 2 * (c.smoothness + 2 * c.weak_convexity) * d
    return movement_adjoint(jobs, norm, jobs.mix * weight)


@dataclass(frozen=True, eq=False)
class SharpGradient:
    """The bound, and its derivatives with respect to each job's steps and batch, (G,) each; times are held."""

    value: float
    steps: FloatArray
    batch: FloatArray


def sharp_gradient(jobs: TaskJobs, constants: Constants) -> SharpGradient:
    """Derivatives of `sharp(jobs, constants).value`; computing times are taken as given."""
    c = constants
    alpha, eta, e = jobs.mix, jobs.rate, jobs.steps
    bound = sharp(jobs, c)
    N, value = bound.steps, bound.value
    delta, variance = c.dissimilarity[jobs.device], c.variability**2 * c.sample_variance[jobs.device]
    constant, linear, square = slope_in_steps(jobs, c, delta, variance, jobs.batch)
    of_steps = constant + linear * e + square * e**2 + sharp_staleness_slope(jobs, c)
    of_batch = -alpha * c.smoothness * eta**2 * e * variance / jobs.batch**2
    return SharpGradient(value=value, steps=(of_steps - value * alpha * eta) / N, batch=of_batch / N)
