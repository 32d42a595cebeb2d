"""`sharp`: our repaired form of Theorem 1, Num / N per step (docs/theory.md), as a loss model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.planning.loss_models.base import BestReplacements, LossModel
from dmafl.planning.loss_models.drift_terms import (
    DriftWeights,
    relaxed_drift_of_all,
    relaxed_under_way,
    slopes_of_jobs,
)
from dmafl.planning.loss_models.drifting import DriftingLossModel
from dmafl.planning.loss_models.grid_bound import POINTS, least_sum
from dmafl.planning.loss_models.job_batch import JobBatch
from dmafl.planning.loss_models.job_costs import JobCosts
from dmafl.planning.loss_models.relaxed import RelaxedFrame, RelaxedLoss, RelaxedSchedule
from dmafl.planning.loss_models.slopes import Slopes
from dmafl.planning.loss_models.surrogate import ExpansionPoint, Movement, Surrogate, bend_of_ratio
from dmafl.planning.loss_models.task_frame import TaskFrame
from dmafl.planning.task_estimates import TaskEstimates
from dmafl.scenario.model import Task
from dmafl.theory.constants import Constants
from dmafl.theory.drift import drift_of_schedules
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.sharp import (
    noise_factor,
    sharp,
    sharp_gradient,
    sharp_staleness_slope,
    slope_in_steps,
    steps_taken,
    terms_of_jobs,
)
from dmafl.theory.step_bias import bias, bias_curvature, bias_slope, drag


def sharp_of(estimates: TaskEstimates, settings: Task, dissimilarity: str) -> LossModel:
    """The model of a task."""
    return Sharp(estimates.constants)


@dataclass(frozen=True, eq=False)
class Sharp(DriftingLossModel):
    """The sharp bound with the constants of a task."""

    constants: Constants
    name: ClassVar[str] = "sharp"

    def terms(self, jobs: TaskJobs) -> dict[str, float]:
        """See `LossModel`."""
        return sharp(jobs, self.constants).terms()

    def value(self, jobs: TaskJobs) -> float:
        """See `LossModel`."""
        return sharp(jobs, self.constants).value

    def values(self, batch: JobBatch) -> FloatArray:
        """See `LossModel`."""
        c, jobs = self.constants, batch.end_to_end
        drift = drift_of_schedules(batch.device, batch.table(jobs.compute_s), batch.horizon_s, c)
        each = batch.table(np.sum([*terms_of_jobs(jobs, c).values()], axis=0)).sum(axis=1)
        N = batch.table(jobs.mix * jobs.rate * jobs.steps).sum(axis=1)
        return np.asarray((2.0 * (c.first_loss - c.lowest_loss) + 2.0 * drift + each) / N)

    def lower_bound(self, task: TaskFrame, costs: JobCosts) -> float | None:
        """min over E = sum e of 2 (F(w0) - F*) / (eta alpha_max E) + computation of E smallest batches.

        The least dissimilarity is added, bias_k >= e_k delta, and the cheapest transfers.
        """
        if self.drift_may_help:
            return None
        c = self.constants
        E = np.geomspace(*task.steps_range, POINTS) * task.slots
        start = 2.0 * (c.first_loss - c.lowest_loss) / (task.rate * float(task.mix_weights.max()) * E)
        work = costs.cheapest_sample * task.batch_range[0] * E
        least = float(c.dissimilarity[task.usable].min())
        rest = costs.cheapest_transfers(task.mix_weights.shape[1] - 1)
        return task.weight * least + rest + least_sum(task.weight * start, work)

    # -- search ---------------------------------------------------------------------------------------

    def slopes(self, jobs: TaskJobs) -> Slopes:
        """See `LossModel`."""
        gradient = sharp_gradient(jobs, self.constants)
        return Slopes(gradient.value, gradient.steps, gradient.batch)

    def noise_weights(self, jobs: TaskJobs) -> FloatArray:
        """See `LossModel`."""
        c = self.constants
        noise = noise_factor(c, jobs.rate, c.sample_variance[jobs.device])
        return np.asarray(jobs.mix * noise / steps_taken(jobs))

    def drift_weights(self, jobs: TaskJobs) -> DriftWeights:
        """See `DriftingLossModel`."""
        N = steps_taken(jobs)
        return DriftWeights(2.0 / N, 4.0 * jobs.mix / N)

    def replacements(
        self, jobs: TaskJobs, cost: FloatArray | None = None, slots: slice = slice(None)
    ) -> FloatArray:
        """See `LossModel`."""
        c, V2 = self.constants, self.constants.regularised_gradient_bound
        mix, rate, steps = (column[slots, None] for column in (jobs.mix, jobs.rate, jobs.steps))
        of_bias = bias(steps, c.dissimilarity[None, :], drag(jobs.proximal, rate, V2))
        sampling = steps * (1 / jobs.batch - 1 / jobs.samples)[slots, None]
        noise = noise_factor(c, rate, c.sample_variance[None, :]) * sampling
        loss = mix * (rate * of_bias + noise) / steps_taken(jobs)
        return np.asarray(loss - np.take_along_axis(loss, jobs.device[slots, None], axis=1))

    def best_replacements(
        self, task: TaskFrame, jobs: TaskJobs, sample_cost: FloatArray, slots: slice
    ) -> BestReplacements:
        """See `LossModel`.

        Num / N changes by (dNum - (Num / N) dN) / (N + dN). Its numerator and the price of samples are least where
        B = sqrt(what noise costs / price of a sample), whatever e is, and e solves a quadratic equation.
        """
        c = self.constants
        bound = sharp(jobs, c)
        N, value = bound.steps, bound.value
        i = jobs.device[slots, None]
        e, B, mix, rate, samples = (
            column[slots, None] for column in (jobs.steps, jobs.batch, jobs.mix, jobs.rate, jobs.samples)
        )
        each = jobs.with_(mix=mix, rate=rate, samples=samples)
        delta, variance = c.dissimilarity[None, :], c.variability**2 * c.sample_variance[None, :]
        sample = sample_cost * (N / max(task.weight, 1e-150))  # in units of Num
        noise = mix * noise_factor(c, rate, c.sample_variance[None, :])
        batch = np.clip(np.sqrt(noise / np.maximum(sample, 1e-150)), *task.batch_range)
        pull = sharp_staleness_slope(jobs, c)[slots, None] - value * mix * rate
        constant, linear, square = slope_in_steps(each, c, delta, variance, batch)
        steps = np.clip(_root(constant + pull + sample * batch, linear, square), *task.steps_range)
        more = _integral(constant + pull, linear, square, steps)
        constant, linear, square = slope_in_steps(each, c, c.dissimilarity[i], variance[0, i], B)
        more -= _integral(constant + pull, linear, square, e)
        gain = task.weight * more / (N + mix * rate * (steps - e))
        return BestReplacements(
            np.asarray(gain + sample_cost * steps * batch - sample_cost[i] * e * B), steps, batch
        )

    # -- resources of a fixed schedule ------------------------------------------------------------------

    def smooth_value(self, jobs: TaskJobs, scores: FloatArray | None) -> float:
        """See `LossModel`."""
        return self.value(jobs) - self.overlap_value(jobs)

    def surrogate(self, weight: float, at: ExpansionPoint) -> Surrogate:
        """See `LossModel`."""
        jobs = at.jobs
        c, alpha, eta, e, B = self.constants, jobs.mix, jobs.rate, jobs.steps, jobs.batch
        beta, rho_w, V2 = c.smoothness, c.weak_convexity, c.regularised_gradient_bound
        bound = sharp(jobs, c)
        N, ratio = bound.steps, bound.value
        delta, pull = c.dissimilarity[jobs.device], drag(jobs.proximal, eta, V2)
        noise = noise_factor(c, eta, c.sample_variance[jobs.device])
        of_steps = alpha * (
            eta * bias_slope(e, delta, pull)
            - noise / jobs.samples
            + np.maximum(0.0, beta * eta**2 - eta) * V2
            + 4 * rho_w * eta**2 * V2 * e
        )
        curvature = alpha * (eta * np.maximum(bias_curvature(e, delta, pull), 0.0) + 4 * rho_w * eta**2 * V2)
        of_ends, of_compute = slopes_of_jobs(jobs, c, DriftWeights(2.0, 4.0 * alpha))  # of Num
        gradient = sharp_gradient(jobs, c)
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
            noise=weight / N * alpha * noise,
            compute_s=weight / N * of_compute,
            ends_s=weight / N * of_ends,
            movement=moves if bool((jobs.staleness > 0).any()) else None,
            bend=bend_of_ratio(jobs, weight / N**2, A_e, A_q, of_compute, alpha * eta),
        )

    def relaxed(self, frame: RelaxedFrame) -> RelaxedLoss:
        """See `LossModel`."""
        return RelaxedSharp(self.constants, frame)


def _integral(a: FloatArray, b: FloatArray, square: FloatArray, e: FloatArray) -> FloatArray:
    """Of a + b e + c e^2 from 0."""
    return np.asarray(e * (a + e * (b / 2.0 + e * square / 3.0)))


def _root(a: FloatArray, b: FloatArray, square: FloatArray) -> FloatArray:
    """Where a + b e + c e^2, b and c >= 0, becomes positive; 0 if it always is, infinite if it never is."""
    inside = np.maximum(b**2 - 4.0 * a * square, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        root = -2.0 * a / (b + np.sqrt(inside))
    return np.where(a >= 0.0, 0.0, np.where(np.isnan(root), np.inf, root))


@dataclass(frozen=True, eq=False)
class RelaxedSharp:
    """The sharp bound of a relaxed schedule, Num / N."""

    constants: Constants
    frame: RelaxedFrame

    def __call__(self, at: RelaxedSchedule) -> tuple[float, RelaxedSchedule]:
        """See `RelaxedLoss`."""
        c, f = self.constants, self.frame
        mixed = np.einsum("gis,gs->gi", at.x, f.mix)
        alpha = mixed.sum(axis=1)
        cost, of_steps, of_batch = self._job_costs(at)
        N = f.rate * float(alpha @ at.steps)
        drift = relaxed_drift_of_all(at, c)
        way = relaxed_under_way(at, c, f, f.mix)
        ages = np.einsum("gis,gs->gs", at.x, f.mix)
        stale, of_ages, of_moved = self._staleness(ages, alpha, at.steps)
        num = 2.0 * (c.first_loss - c.lowest_loss) + 2.0 * drift[0] + float((mixed * cost).sum()) + way[0]
        value = (num + stale) / N
        per_step = f.rate * np.sqrt(c.regularised_gradient_bound)
        of_alpha = of_moved * per_step * at.steps - value * f.rate * at.steps
        x = ((cost + of_alpha[:, None])[:, :, None] + of_ages[:, None, :]) * f.mix[:, None, :]
        x += 2.0 * drift[1].x + way[1].x
        steps = (mixed * of_steps).sum(axis=1) + of_moved * per_step * alpha - value * f.rate * alpha
        return value, RelaxedSchedule(
            x=x / N,
            steps=steps / N,
            batch=(mixed * of_batch).sum(axis=1) / N,
            compute_s=(2.0 * drift[1].compute_s + way[1].compute_s) / N,
            end_s=2.0 * drift[1].end_s / N,
        )

    def _job_costs(self, at: RelaxedSchedule) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What Num gains for a unit of alpha in slot g on device i, and its slopes in steps and batch, (G, I) each."""
        c, f = self.constants, self.frame
        eta, V2 = f.rate, c.regularised_gradient_bound
        e, B = at.steps[:, None], at.batch[:, None]
        delta, pull = c.dissimilarity[None, :], drag(f.proximal, eta, V2)
        noise = noise_factor(c, eta, c.sample_variance[None, :])
        sampling = 1 / B - 1 / f.samples[:, None]
        curvature = max(0.0, c.smoothness * eta**2 - eta) * V2
        local = 2 * c.weak_convexity * eta**2 * V2
        cost = eta * bias(e, delta, pull) + noise * e * sampling + curvature * e + local * e**2
        of_steps = eta * bias_slope(e, delta, pull) + noise * sampling + curvature + 2 * local * e
        return cost, of_steps, -noise * e / B**2

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
