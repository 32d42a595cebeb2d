"""Convex functions that touch the cost of a fixed schedule at a point: what the resource solver minimises.

Parts of a quality that are convex in steps e, work q = e B and times are kept as they are: N^(-1/3), e^2 / q, the
movement of the model. A ratio A / S is taken as (A - r S) / S_0 with r = A_0 / S_0 and the curvature that this leaves
out, as far as it is positive; biases of the device mix are linear in e, with a curvature that is given.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.planning.loss_models.gram_curvature import gram_band
from dmafl.planning.loss_models.label_slopes import label_slopes_and_curvature
from dmafl.planning.loss_models.models import Calibrated, Sharp, Theorem1
from dmafl.planning.loss_models.smooth import labelled
from dmafl.planning.problem import TaskProblem
from dmafl.schedule.earliest_times import slope_in_lengths
from dmafl.theory.calibrated import TRAINING_POWER
from dmafl.theory.constants import Constants
from dmafl.theory.features import amount, exchange_of_jobs
from dmafl.theory.gram_bias import gram_bias_gradient
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.movement import movement, movement_adjoint
from dmafl.theory.sharp import sharp, sharp_gradient
from dmafl.theory.theorem1 import theorem1


@dataclass(frozen=True, eq=False)
class Movement:
    """sum_k [linear_k d_k + square_k d_k^2], d_k the movement of the model while job k is under way."""

    linear: FloatArray
    square: FloatArray
    own: FloatArray
    """alpha_k eta_k sqrt(V_2): movement of the model by a step of job k."""


@dataclass(frozen=True, eq=False)
class Bend:
    """(1/2) strength (direction' (x - x_0))^2, x the steps, work and computing times."""

    strength: float
    steps: FloatArray
    work: FloatArray
    compute_s: FloatArray


@dataclass(frozen=True, eq=False)
class Surrogate:
    """A convex function of one task's steps, work, computing times and slot times; arrays are (G,).

    steps' e + (1/2) curvature' e^2 + noise' (e^2 / q) + compute_s' T + ends_s' tau
    + training (share' e)^(-1/3) + movement + bend + most_steps (max e) + (1/2) most_curvature (max e)^2
    """

    steps: FloatArray
    curvature: FloatArray
    noise: FloatArray
    compute_s: FloatArray
    ends_s: FloatArray
    """>= 0: slots end as early as can be."""
    training: float = 0.0
    share: FloatArray | None = None
    movement: Movement | None = None
    bend: Bend | None = None
    most_steps: float = 0.0
    most_curvature: float = 0.0
    bands: tuple[list[FloatArray], ...] = ()
    """Further Hessians in the steps by their diagonals 0, 1, ..., which cone programs leave out."""


def slopes_of(f: Surrogate, jobs: TaskJobs) -> tuple[FloatArray, FloatArray]:
    """Derivatives of a surrogate, where it touches, with respect to steps and work, (G,) each."""
    e, B = jobs.steps, jobs.batch
    of_steps = f.steps + f.curvature * e + 2.0 * f.noise / B
    if f.share is not None:
        N = float(f.share @ e)
        of_steps = of_steps + f.training * TRAINING_POWER * N ** (TRAINING_POWER - 1.0) * f.share
    if f.movement is not None:
        m = f.movement
        norm = float((m.own / jobs.mix / jobs.rate)[0])
        pull = m.linear + 2.0 * m.square * movement(jobs, norm)
        of_steps = of_steps + movement_adjoint(jobs, norm, pull)
    return np.asarray(of_steps), np.asarray(-f.noise / B**2)


def surrogate_of(
    task: TaskProblem,
    jobs: TaskJobs,
    scores: FloatArray | None,
    strength: float,
    *,
    with_bands: bool = False,
) -> Surrogate:
    """The surrogate of c_1 gamma times the loss at `jobs`, whose class scores are `scores`.

    `strength`: of the curvature given to the biases, beside their own bands if `with_bands`.
    """
    quality = task.loss_model
    if isinstance(quality, Calibrated):
        return _calibrated(quality, task, jobs, scores, strength, with_bands)
    if isinstance(quality, Sharp):
        return _sharp(quality.constants, task.weight, jobs)
    if isinstance(quality, Theorem1):
        return _printed(quality, task.weight, jobs)
    raise TypeError(f"no surrogate for the quality {quality.name}")


def _calibrated(
    quality: Calibrated,
    task: TaskProblem,
    jobs: TaskJobs,
    scores: FloatArray | None,
    strength: float,
    with_bands: bool,
) -> Surrogate:
    weight = task.weight
    th, e, c = quality.calibration.weights, jobs.steps, quality.constants
    share = exchange_of_jobs(jobs) * jobs.rate
    a, one = jobs.mix, weight * th.noise
    S = float(a @ e)
    A_e = a * (2.0 / jobs.batch - 1.0 / jobs.samples)
    A_q = -a / jobs.batch**2
    ratio = float(a @ (e * (1.0 / jobs.batch - 1.0 / jobs.samples))) / S
    gram = weight * _gram_slopes(quality, jobs)
    of_labels: FloatArray = np.zeros(len(jobs))
    label_band: list[FloatArray] = []
    known = labelled(task, jobs)
    if known is not None and scores is not None:
        of_labels, label_band = label_slopes_and_curvature(known, scores)
    of_labels = weight * th.label_bias * of_labels
    biases = gram + of_labels
    relative = np.abs((of_labels if with_bands else biases) * e)
    extra_curvature = strength * (relative + 0.3 * relative.mean()) / e**2
    window = weight * th.window * 4.0 / len(jobs)
    of_ends, of_compute = _times(jobs, c, weight * th.drift, np.full(len(jobs), window))
    return Surrogate(
        steps=biases - extra_curvature * e - one * a * (1.0 / jobs.samples + ratio) / S,
        curvature=extra_curvature,
        noise=one * a / S,
        compute_s=of_compute,
        ends_s=of_ends,
        training=weight * th.training,
        share=share,
        bend=_bend(jobs, one / S**2, A_e - ratio * a, A_q, np.zeros(len(jobs)), a),
        bands=_bands(quality, weight, jobs, label_band) if with_bands else (),
    )


def _sharp(c: Constants, weight: float, jobs: TaskJobs) -> Surrogate:
    alpha, eta, e = jobs.mix, jobs.rate, jobs.steps
    beta, rho_w, V2 = c.smoothness, c.weak_convexity, c.regularised_gradient_bound
    bound = sharp(jobs, c)
    N, ratio = bound.steps, bound.value
    delta, drag = c.dissimilarity[jobs.device], jobs.proximal * eta * np.sqrt(V2)
    variance = beta * eta**2 * c.variability**2 * c.sample_variance[jobs.device]
    bias = delta + np.sqrt(delta) * drag * (2 * e - 1) + drag**2 * (6 * e**2 - 6 * e + 1) / 6
    of_steps = alpha * (
        eta * bias
        - variance / jobs.samples
        + np.maximum(0.0, beta * eta**2 - eta) * V2
        + 4 * rho_w * eta**2 * V2 * e
    )
    curvature = alpha * (
        eta * np.maximum(2 * np.sqrt(delta) * drag + drag**2 * (2 * e - 1), 0.0) + 4 * rho_w * eta**2 * V2
    )
    of_ends, of_compute = _times(jobs, c, 2.0, 4.0 * alpha)
    gradient = sharp_gradient(jobs, c)
    B = jobs.batch
    moves = Movement(
        weight / N * alpha * 2 * np.sqrt(c.gradient_bound),
        weight / N * alpha * (beta + 2 * rho_w),
        alpha * eta * np.sqrt(V2),
    )
    # gradient.* / weight are derivatives of Num / N at fixed batch; those of Num - r N at fixed work:
    A_e, A_q = N * (gradient.steps - gradient.batch * B / e), N * gradient.batch / e
    return Surrogate(
        steps=weight / N * (of_steps - curvature * e - ratio * alpha * eta),
        curvature=weight / N * curvature,
        noise=weight / N * alpha * variance,
        compute_s=weight / N * of_compute,
        ends_s=weight / N * of_ends,
        movement=moves if bool((jobs.staleness > 0).any()) else None,
        bend=_bend(jobs, weight / N**2, A_e, A_q, of_compute, alpha * eta),
    )


def _printed(quality: Theorem1, weight: float, jobs: TaskJobs) -> Surrogate:
    c, G = quality.constants, len(jobs)
    eta, D = jobs.rate, jobs.samples
    scale = weight / (G * float(eta.min()))
    rho, V2 = c.weak_convexity, c.regularised_gradient_bound
    noise = 4.0 * c.smoothness * eta**2 * (D - 1) / D * c.variability**2 * c.sample_variance[jobs.device]
    local = 2.0 * rho * eta**2 * V2
    linear, square = _largest(quality, jobs)
    idle, active = c.drift_idle[jobs.device], c.drift_active[jobs.device]
    last = np.full(c.devices, -1)
    last[jobs.device] = jobs.slot  # idle times of a device add up to its last end less its computing
    ends = np.where(last[jobs.device] == jobs.slot, 2.0 * scale * idle, 0.0)
    of_ends, of_compute = _as_early_as_can_be(jobs, ends, 2.0 * scale * (active - idle))
    return Surrogate(
        steps=scale * (eta * c.dissimilarity[jobs.device] - noise / D - local * rho / 2 * eta),
        curvature=scale * 2.0 * local * (rho / 2 * eta + 1.0),
        noise=scale * noise,
        compute_s=of_compute,
        ends_s=of_ends,
        most_steps=weight * linear,
        most_curvature=weight * 2.0 * square,
    )


def _largest(quality: Theorem1, jobs: TaskJobs) -> tuple[float, float]:
    """Term (e) is linear m + square m^2 in the largest steps m; (0, 0) where it is too large for a number."""
    m = float(jobs.steps.max())
    once = theorem1(jobs, quality.constants, quality.mixing).e
    twice = theorem1(jobs.with_(steps=2.0 * jobs.steps), quality.constants, quality.mixing).e
    if not np.isfinite(twice):
        return 0.0, 0.0
    return max(0.0, (4.0 * once - twice) / (2.0 * m)), max(0.0, (twice - 2.0 * once) / (2.0 * m**2))


def _times(
    jobs: TaskJobs, c: Constants, of_drift: float, of_window: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Slopes of of_drift drift_all + sum_k of_window_k (drift while k is under way): of each tau, of each T^C.

    What others' data drift more during a job since they compute is left out (`smooth_quality`).
    """
    of_ends = np.zeros(len(jobs))
    of_ends[-1] = of_drift * float(c.drift_idle.sum())
    extra = (c.drift_active_size - c.drift_idle_size)[jobs.device]
    of_compute = of_drift * (c.drift_active - c.drift_idle)[jobs.device]
    of_compute = of_compute + of_window * (float(c.drift_idle_size.sum()) + extra)
    return _as_early_as_can_be(jobs, of_ends, of_compute)


def _as_early_as_can_be(
    jobs: TaskJobs, of_ends: FloatArray, of_compute: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Where a late slot is worth something, no job waits for it: only longer jobs that make it late count."""
    late = np.minimum(of_ends, 0.0)
    if late.any():
        of_compute = of_compute + slope_in_lengths(jobs.version, jobs.end_s - jobs.start_s, late)
    return np.maximum(of_ends, 0.0), np.asarray(of_compute)


def _gram_slopes(quality: Calibrated, jobs: TaskJobs) -> FloatArray:
    if not quality.knows_balance:
        return np.zeros(len(jobs))
    of_amount = gram_bias_gradient(jobs.device, amount(jobs), quality.balance)
    return np.asarray(of_amount * jobs.mix / (2.0 * np.sqrt(jobs.steps)))


def _bend(
    jobs: TaskJobs, strength: float, A_e: FloatArray, A_q: FloatArray, A_T: FloatArray, S_e: FloatArray
) -> Bend | None:
    """The positive part of -strength (c S' + S c'), c the gradient of A - r S and S that of S, in relative units."""
    e, q, T = jobs.steps, jobs.steps * jobs.batch, jobs.compute_s
    c = np.concatenate([A_e * e, A_q * q, A_T * T])
    s = np.concatenate([S_e * e, np.zeros(2 * len(e))])
    c_size, s_size = float(np.linalg.norm(c)), float(np.linalg.norm(s))
    if not (c_size > 0 and s_size > 0 and strength > 0):
        return None
    u = s / s_size - c / c_size
    length = float(np.linalg.norm(u))
    value = strength * (c_size * s_size - float(c @ s))
    if not (length > 1e-9 and value > 0):
        return None
    of_e, of_q, of_T = np.split(u / length, 3)
    return Bend(value, of_e / e, of_q / q, of_T / T)


def _bands(
    quality: Calibrated, weight: float, jobs: TaskJobs, label_band: list[FloatArray]
) -> tuple[list[FloatArray], ...]:
    th, made = quality.calibration.weights, []
    if quality.knows_balance:
        made.append([weight * diagonal for diagonal in gram_band(quality, jobs)])
    if label_band:
        made.append([weight * th.label_bias * diagonal for diagonal in label_band])
    return tuple(made)
