"""`printed`: Theorem 1 as the paper prints it, as a loss model. Schedules are kept fresh, for its term (e) may be
infinite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.planning.loss_models.base import LossModel
from dmafl.planning.loss_models.drift_terms import as_early_as_can_be
from dmafl.planning.loss_models.relaxed import RelaxedFrame, RelaxedLoss, RelaxedSchedule
from dmafl.planning.loss_models.slopes import Slopes, TimeSlopes
from dmafl.planning.loss_models.surrogate import ExpansionPoint, Surrogate
from dmafl.planning.task_estimates import TaskEstimates
from dmafl.scenario.model import Task
from dmafl.theory.constants import Constants
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.theorem1 import local_term, noise_factor, theorem1


def printed(estimates: TaskEstimates, settings: Task, dissimilarity: str) -> LossModel:
    """The model of a task."""
    return Theorem1(estimates.constants, settings.mixing)


@dataclass(frozen=True, eq=False)
class Theorem1(LossModel):
    """Theorem 1 with the constants of a task."""

    constants: Constants
    mixing: float
    name: ClassVar[str] = "printed"
    smooth: ClassVar[bool] = False
    considers_stale: ClassVar[bool] = False

    @property
    def devices(self) -> int:
        """See `LossModel`."""
        return self.constants.devices

    def terms(self, jobs: TaskJobs) -> dict[str, float]:
        """See `LossModel`."""
        return theorem1(jobs, self.constants, self.mixing).terms()

    def value(self, jobs: TaskJobs) -> float:
        """See `LossModel`."""
        return theorem1(jobs, self.constants, self.mixing).value

    def slopes(self, jobs: TaskJobs) -> Slopes:
        """See `LossModel`. Term (e), which is not differentiable, is left out."""
        c, scale = self.constants, per_slot(jobs)
        eta, e, B, D = jobs.rate, jobs.steps, jobs.batch, jobs.samples
        noise = noise_factor(c, eta, D, c.sample_variance[jobs.device])
        of_local = local_term(c, eta, e)[1]
        return Slopes(
            value=self.value(jobs),
            steps=scale * (eta * c.dissimilarity[jobs.device] + noise * (1 / B - 1 / D) + of_local),
            batch=-scale * noise * e / B**2,
        )

    def noise_weights(self, jobs: TaskJobs) -> FloatArray:
        """See `LossModel`."""
        c = self.constants
        noise = noise_factor(c, jobs.rate, jobs.samples, c.sample_variance[jobs.device])
        return np.asarray(noise / (len(jobs) * float(jobs.rate.min())))

    def time_slopes(self, jobs: TaskJobs) -> TimeSlopes:
        """See `LossModel`."""
        c, scale = self.constants, per_slot(jobs)
        return TimeSlopes(
            compute_s=2.0 * scale * (c.drift_active - c.drift_idle),
            under_way_s=np.zeros(len(jobs)),
            horizon_s=2.0 * scale * float(c.drift_idle[jobs.device].mean()),
        )

    def replacements(
        self, jobs: TaskJobs, cost: FloatArray | None = None, slots: slice = slice(None)
    ) -> FloatArray:
        """See `LossModel`."""
        c = self.constants
        eta, e, B, D = (column[slots, None] for column in (jobs.rate, jobs.steps, jobs.batch, jobs.samples))
        noise = e * (1 / B - 1 / D) * noise_factor(c, eta, D, c.sample_variance)
        loss = per_slot(jobs) * (eta * e * c.dissimilarity + noise)
        return np.asarray(loss - np.take_along_axis(loss, jobs.device[slots, None], axis=1))

    def surrogate(self, weight: float, at: ExpansionPoint) -> Surrogate:
        """See `LossModel`."""
        jobs = at.jobs
        c, eta, D = self.constants, jobs.rate, jobs.samples
        scale = weight * per_slot(jobs)
        noise = noise_factor(c, eta, D, c.sample_variance[jobs.device])
        _, of_local, curvature = local_term(c, eta, np.zeros(len(jobs)))
        linear, square = self._largest(jobs)
        idle, active = c.drift_idle[jobs.device], c.drift_active[jobs.device]
        last = np.full(c.devices, -1)
        last[jobs.device] = jobs.slot  # idle times of a device add up to its last end less its computing
        ends = np.where(last[jobs.device] == jobs.slot, 2.0 * scale * idle, 0.0)
        of_ends, of_compute = as_early_as_can_be(jobs, ends, 2.0 * scale * (active - idle))
        return Surrogate(
            steps=scale * (eta * c.dissimilarity[jobs.device] - noise / D + of_local),
            curvature=scale * curvature,
            noise=scale * noise,
            compute_s=of_compute,
            ends_s=of_ends,
            most_steps=weight * linear,
            most_curvature=weight * 2.0 * square,
        )

    def _largest(self, jobs: TaskJobs) -> tuple[float, float]:
        """Term (e) is linear m + square m^2 in the largest steps m; (0, 0) where it is too large for a number."""
        m = float(jobs.steps.max())
        once = theorem1(jobs, self.constants, self.mixing).e
        twice = theorem1(jobs.with_(steps=2.0 * jobs.steps), self.constants, self.mixing).e
        if not np.isfinite(twice):
            return 0.0, 0.0
        return max(0.0, (4.0 * once - twice) / (2.0 * m)), max(0.0, (twice - 2.0 * once) / (2.0 * m**2))

    def relaxed(self, frame: RelaxedFrame) -> RelaxedLoss:
        """See `LossModel`."""
        return RelaxedTheorem1(self, frame)


def per_slot(jobs: TaskJobs) -> float:
    """1 / (G min eta), which multiplies every sum over slots."""
    return 1.0 / (len(jobs) * float(jobs.rate.min()))


@dataclass(frozen=True, eq=False)
class RelaxedTheorem1:
    """Theorem 1 of a relaxed schedule of fresh jobs, for which term (e) is 0."""

    model: Theorem1
    frame: RelaxedFrame

    def __call__(self, at: RelaxedSchedule) -> tuple[float, RelaxedSchedule]:
        """See `RelaxedLoss`."""
        c, f, G = self.model.constants, self.frame, len(at.steps)
        eta, e, B, D = f.rate, at.steps, at.batch, f.samples
        z = at.x.sum(axis=2)
        scale = 1.0 / (G * eta)
        factor = noise_factor(c, eta, D[:, None], c.sample_variance[None, :])
        local, of_local, _ = local_term(c, eta, e)
        each = eta * c.dissimilarity[None, :] + factor * (1 / B - 1 / D)[:, None]
        cost = e[:, None] * each + local[:, None]
        of_steps = each + of_local[:, None]
        # Between a device's jobs it idles, after its last one it no longer counts.
        extra = 2.0 * (c.drift_active - c.drift_idle)
        last, of_z, of_end = _last_ends(z, at.end_s)
        cost += extra * at.compute_s[:, None]
        start = 2.0 / (G * self.model.mixing * eta) * (c.first_loss - c.lowest_loss)
        value = start + scale * float((z * cost).sum() + 2.0 * c.drift_idle @ last)
        return value, RelaxedSchedule(
            x=scale * (cost + 2.0 * c.drift_idle * of_z)[:, :, None] * np.ones_like(at.x),
            steps=scale * (z * of_steps).sum(axis=1),
            batch=-scale * e / B**2 * (z * factor).sum(axis=1),
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
