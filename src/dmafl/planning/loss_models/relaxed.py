"""Quality models for a schedule that is not decided yet: every slot is shared by candidates (device, staleness).

`x[g, i, s]` is the share of slot g that device i completes with staleness s. Every model here equals the true one of
`dmafl.theory` where x is 0 or 1 (but for the window term of jobs that overlap, see `_under_way`), is smooth between,
and comes with its derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.planning.loss_models.models import Calibrated, Sharp, Theorem1
from dmafl.planning.loss_models.relaxed_labels import shared_label_bias
from dmafl.planning.problem import TaskProblem
from dmafl.theory.calibrated import TRAINING_POWER
from dmafl.theory.constants import Constants
from dmafl.theory.gram_bias import MEMORY, Factors, remembered


class Shared(NamedTuple):
    """A relaxed schedule of one task, or derivatives with respect to each of its parts."""

    x: FloatArray
    """(G, I, S), S = K + 1 ages; 0 where slot g has no version g - s."""
    steps: FloatArray
    batch: FloatArray
    compute_s: FloatArray
    end_s: FloatArray
    """All (G,)."""


@dataclass(frozen=True, eq=False)
class Frame:
    """What a relaxed quality knows of its task besides the schedule."""

    mix: FloatArray
    """alpha by slot and staleness, (G, S)."""
    samples: FloatArray
    """D of every slot, (G,), held."""
    rate: float
    proximal: float
    transfer_s: FloatArray
    """T^D + T^U of every candidate, (G, I, S)."""


class SharedQuality(Protocol):
    """Value of a relaxed schedule and its derivatives."""

    def __call__(self, at: Shared) -> tuple[float, Shared]:
        """The value, and its derivative with respect to every part."""


def shared_quality(task: TaskProblem, frame: Frame) -> SharedQuality:
    """The relaxed form of the task's quality model."""
    quality = task.loss_model
    if isinstance(quality, Calibrated):
        return SharedCalibrated(quality, frame)
    if isinstance(quality, Sharp):
        return SharedSharp(quality.constants, frame)
    if isinstance(quality, Theorem1):
        return SharedPrinted(quality, frame)
    raise TypeError(f"no relaxed form of the quality model {quality.name!r}")


@dataclass(frozen=True, eq=False)
class SharedCalibrated:
    """The predicted loss of a relaxed schedule."""

    quality: Calibrated
    frame: Frame

    def __call__(self, at: Shared) -> tuple[float, Shared]:
        """See `SharedQuality`."""
        weight, f = self.quality.calibration.weights, self.frame
        S = at.x.shape[2]
        exchanged = f.mix / np.sqrt(1.0 + np.arange(S))
        fresh = f.rate * exchanged
        share = np.einsum("gis,gs->g", at.x, fresh)
        N = float(share @ at.steps)
        value = weight.constant + weight.training * N**TRAINING_POWER
        of_N = weight.training * TRAINING_POWER * N ** (TRAINING_POWER - 1.0)
        x = of_N * (at.steps[:, None] * fresh)[:, None, :] * np.ones_like(at.x)
        if weight.exchange > 0:
            V = float(share.sum()) / f.rate
            value += weight.exchange * V**TRAINING_POWER
            x += weight.exchange * TRAINING_POWER * V ** (TRAINING_POWER - 1.0) * exchanged[:, None, :]
        steps = of_N * share
        batch = np.zeros_like(steps)

        mixed = np.einsum("gis,gs->gi", at.x, f.mix)
        alpha = mixed.sum(axis=1)
        sampling = 1 / at.batch - 1 / f.samples
        work = float(alpha @ at.steps)
        noise = float((alpha * at.steps) @ sampling) / work
        value += weight.noise * noise
        excess = weight.noise * (sampling - noise) / work
        x += (excess * at.steps)[:, None, None] * f.mix[:, None, :]
        steps += excess * alpha
        batch -= weight.noise * alpha * at.steps / work / at.batch**2

        if self.quality.knows_balance:
            root = np.sqrt(at.steps)
            Z, of_amount = _gram_bias(mixed * root[:, None], self.quality.balance)
            value += Z - self.quality.concentration / self.quality.constants.devices
            x += (of_amount * root[:, None])[:, :, None] * f.mix[:, None, :]
            steps += (of_amount * mixed).sum(axis=1) / (2 * root)
        if weight.label_bias > 0 and self.quality.labels is not None:
            labels, response = self.quality.labels, self.quality.calibration.response * f.rate
            L, of_x, of_time = shared_label_bias(at.x, f.mix, response * at.steps, labels)
            value += weight.label_bias * L
            x += weight.label_bias * of_x
            steps += weight.label_bias * response * of_time

        c, G = self.quality.constants, len(at.steps)
        drift = _drift_of_all(at, c)
        way = _under_way(at, c, f, np.full((G, S), 1.0 / G))
        value += weight.drift * drift[0] + weight.window * way[0]
        return value, Shared(
            x=x + weight.drift * drift[1].x + weight.window * way[1].x,
            steps=steps,
            batch=batch,
            compute_s=weight.drift * drift[1].compute_s + weight.window * way[1].compute_s,
            end_s=weight.drift * drift[1].end_s,
        )


@dataclass(frozen=True, eq=False)
class SharedSharp:
    """The sharp bound of a relaxed schedule, Num / N."""

    constants: Constants
    frame: Frame

    def __call__(self, at: Shared) -> tuple[float, Shared]:
        """See `SharedQuality`."""
        c, f = self.constants, self.frame
        mixed = np.einsum("gis,gs->gi", at.x, f.mix)
        alpha = mixed.sum(axis=1)
        cost, of_steps, of_batch = self._job_costs(at)
        N = f.rate * float(alpha @ at.steps)
        drift = _drift_of_all(at, c)
        way = _under_way(at, c, f, f.mix)
        ages = np.einsum("gis,gs->gs", at.x, f.mix)
        stale, of_ages, of_moved = self._staleness(ages, alpha, at.steps)
        num = 2.0 * (c.first_loss - c.lowest_loss) + 2.0 * drift[0] + float((mixed * cost).sum()) + way[0]
        value = (num + stale) / N
        own = f.rate * np.sqrt(c.regularised_gradient_bound)
        of_alpha = of_moved * own * at.steps - value * f.rate * at.steps
        x = ((cost + of_alpha[:, None])[:, :, None] + of_ages[:, None, :]) * f.mix[:, None, :]
        x += 2.0 * drift[1].x + way[1].x
        steps = (mixed * of_steps).sum(axis=1) + of_moved * own * alpha - value * f.rate * alpha
        return value, Shared(
            x=x / N,
            steps=steps / N,
            batch=(mixed * of_batch).sum(axis=1) / N,
            compute_s=(2.0 * drift[1].compute_s + way[1].compute_s) / N,
            end_s=2.0 * drift[1].end_s / N,
        )

    def _job_costs(self, at: Shared) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What Num gains for a unit of alpha in slot g on device i, and its slopes in steps and batch, (G, I) each."""
        c, f = self.constants, self.frame
        eta, V2 = f.rate, c.regularised_gradient_bound
        e, B = at.steps[:, None], at.batch[:, None]
        delta = c.dissimilarity[None, :]
        drag = f.proximal * eta * np.sqrt(V2)
        root = np.sqrt(delta)
        bias = e * delta + root * drag * e * (e - 1) + drag**2 * (e - 1) * e * (2 * e - 1) / 6
        of_bias = delta + root * drag * (2 * e - 1) + drag**2 * (6 * e**2 - 6 * e + 1) / 6
        spread = c.smoothness * eta**2 * c.variability**2 * c.sample_variance[None, :]
        sampling = 1 / B - 1 / f.samples[:, None]
        curvature = max(0.0, c.smoothness * eta**2 - eta) * V2
        local = 2 * c.weak_convexity * eta**2 * V2
        cost = eta * bias + spread * e * sampling + curvature * e + local * e**2
        of_steps = eta * of_bias + spread * sampling + curvature + 2 * local * e
        return cost, of_steps, -spread * e / B**2

    def _staleness(
        self, ages: FloatArray, alpha: FloatArray, steps: FloatArray
    ) -> tuple[float, FloatArray, FloatArray]:
        """The terms of d_k, their slope in sum_i alpha x by age (G, S), and in the movement of each slot (G,)."""
        c, f = self.constants, self.frame
        G, S = ages.shape
        first = 2 * np.sqrt(c.gradient_bound)
        second = c.smoothness + 2 * c.weak_convexity
        moved = alpha * steps * f.rate * np.sqrt(c.regularised_gradient_bound)
        travelled = np.zeros(G + 1)
        d = np.zeros((G, S))
        for k in range(G):
            n = min(S, k + 1)
            d[k, :n] = travelled[k] - travelled[k - np.arange(n)]
            travelled[k + 1] = travelled[k] + moved[k] + ages[k] @ d[k]
        value = float((ages * (first * d + second * d**2)).sum())
        back = np.zeros(G + 1)  # what a unit of travelled[k] adds
        of_moved = np.zeros(G)
        for k in range(G - 1, -1, -1):
            of_moved[k] = back[k + 1]
            n = min(S, k + 1)
            of_d = ages[k, :n] * (first + 2 * second * d[k, :n] + back[k + 1])
            back[k] += back[k + 1] + of_d.sum()
            back[k - np.arange(n)] -= of_d
        of_ages = first * d + second * d**2 + of_moved[:, None] * d
        return value, of_ages, of_moved


@dataclass(frozen=True, eq=False)
class SharedPrinted:
    """Theorem 1 as printed for fresh jobs, for which term (e) is 0."""

    quality: Theorem1
    frame: Frame

    def __call__(self, at: Shared) -> tuple[float, Shared]:
        """See `SharedQuality`."""
        c, f, G = self.quality.constants, self.frame, len(at.steps)
        eta, rho = f.rate, c.weak_convexity
        z = at.x.sum(axis=2)
        e, B, D = at.steps, at.batch, f.samples
        scale = 1.0 / (G * eta)
        spread = 4.0 * c.smoothness * eta**2 * (D - 1) / D * c.variability**2
        noise = (spread * (1 / B - 1 / D))[:, None] * c.sample_variance[None, :]
        local = 2.0 * rho * eta**2 * c.regularised_gradient_bound
        each = eta * c.dissimilarity[None, :] + noise
        cost = e[:, None] * each + (local * e * (rho / 2 * eta * (e - 1) + e))[:, None]
        of_steps = each + (local * (rho * eta * (e - 0.5) + 2 * e))[:, None]
        # Between a device's jobs it idles, after its last one it no longer counts.
        extra = 2.0 * (c.drift_active - c.drift_idle)
        last, of_z, of_end = _last_ends(z, at.end_s)
        cost += extra * at.compute_s[:, None]
        start = 2.0 / (G * self.quality.mixing * eta) * (c.first_loss - c.lowest_loss)
        value = start + scale * float((z * cost).sum() + 2.0 * c.drift_idle @ last)
        return value, Shared(
            x=scale * (cost + 2.0 * c.drift_idle * of_z)[:, :, None] * np.ones_like(at.x),
            steps=scale * (z * of_steps).sum(axis=1),
            batch=-scale * spread * e / B**2 * (z @ c.sample_variance),
            compute_s=scale * (z @ extra),
            end_s=scale * 2.0 * (of_end @ c.drift_idle),
        )


def _last_ends(z: FloatArray, end_s: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """When each device completes its last slot, (I,), and the derivatives in shares and ends, (G, I) each.

    sum_g (tau_g - tau_{g-1}) (1 - prod_{k >= g} (1 - z_k)): the time in which a device still has a slot to come.
    """
    G, I = z.shape  # noqa: E741
    length = np.diff(end_s, prepend=0.0)
    none_after = np.ones((G + 1, I))
    for g in range(G - 1, -1, -1):
        none_after[g] = none_after[g + 1] * (1.0 - z[g])
    to_come = 1.0 - none_after[:-1]
    before, of_z = np.zeros(I), np.zeros((G, I))
    for k in range(G):
        before = before + length[k]
        of_z[k] = none_after[k + 1] * before
        before = before * (1.0 - z[k])
    return length @ to_come, of_z, to_come - np.concatenate([to_come[1:], np.zeros((1, I))])


def _gram_bias(amount: FloatArray, gram: Factors) -> tuple[float, FloatArray]:
    """Z of amounts by slot and device, and its derivative, (G, I)."""
    F, sign = gram
    direction = remembered(amount @ F, MEMORY, axis=0)
    total = remembered(amount.sum(axis=1), MEMORY)
    square = (direction**2) @ sign
    pulled = remembered((2.0 * sign * direction / total[:, None] ** 2)[::-1], MEMORY, axis=0)[::-1]
    diluted = remembered((2.0 * square / total**3)[::-1], MEMORY)[::-1]
    G = len(amount)
    return float((square / total**2).mean()), np.asarray((pulled @ F.T - diluted[:, None]) / G)


def _drift_of_all(at: Shared, c: Constants) -> tuple[float, Shared]:
    """drift_all and its derivatives."""
    z, difference = at.x.sum(axis=2), c.drift_active - c.drift_idle
    gained = z @ difference
    idle = float(c.drift_idle.sum())
    end_s = np.zeros_like(at.end_s)
    end_s[-1] = idle
    x = (at.compute_s[:, None] * difference)[:, :, None] * np.ones_like(at.x)
    none = np.zeros_like(at.steps)
    return idle * float(at.end_s[-1]) + float(gained @ at.compute_s), Shared(x, none, none, gained, end_s)


def _under_way(at: Shared, c: Constants, frame: Frame, weight: FloatArray) -> tuple[float, Shared]:
    """sum of weight times 4 times the drift between download and aggregation of a job; `weight` is (G, S).

    All devices drift at their idle rate, and the job's own device at its active rate while it computes; that others
    may compute at the same time is left out.
    """
    extra = (c.drift_active_size - c.drift_idle_size)[None, :, None]
    idle = float(c.drift_idle_size.sum())
    compute = at.compute_s[:, None, None]
    each = 4.0 * weight[:, None, :] * (idle * (compute + frame.transfer_s) + extra * compute)
    slope = 4.0 * (at.x * weight[:, None, :] * (idle + extra)).sum(axis=(1, 2))
    none = np.zeros_like(at.steps)
    return float((at.x * each).sum()), Shared(each, none, none, slope, none)
