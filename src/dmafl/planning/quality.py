"""Quality models as the planner sees them: value, terms, slopes, and what a change of device does to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from dmafl.planning.label_path import LabelPath
from dmafl.randomness import FloatArray
from dmafl.theory.calibrated import TRAINING_POWER, Calibration, predict
from dmafl.theory.constants import Constants
from dmafl.theory.features import LabelMix, amount, features
from dmafl.theory.gram_bias import Factors, gram_bias_gradient, gram_bias_of_replacements
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.printed import printed
from dmafl.theory.sharp import bias_of_steps, sharp, sharp_gradient

MOST_CANDIDATES = 48
"""Devices of a large fleet that are looked at for a slot."""


@dataclass(frozen=True, eq=False)
class TimeSlopes:
    """Derivatives of a quality with respect to each second of a job's computation and of the time from its download
    to its aggregation, (G,), and to the end of the task."""

    compute_s: FloatArray
    under_way_s: FloatArray
    horizon_s: float


@dataclass(frozen=True, eq=False)
class Slopes(TimeSlopes):
    """The same, and derivatives with respect to each job's steps and batch, (G,)."""

    steps: FloatArray
    batch: FloatArray


class Quality(Protocol):
    """What a schedule of one task is worth; smaller is better."""

    @property
    def name(self) -> str:
        """Name of the model."""

    def terms(self, jobs: TaskJobs) -> dict[str, float]:
        """The terms by name; they add up to the value."""

    def value(self, jobs: TaskJobs) -> float:
        """The value."""

    def slopes(self, jobs: TaskJobs) -> Slopes:
        """Derivatives; times of other jobs are held."""

    def time_slopes(self, jobs: TaskJobs) -> TimeSlopes:
        """Derivatives with respect to times alone."""

    def replacements(self, jobs: TaskJobs, cost: FloatArray | None = None) -> FloatArray:
        """What the value gains if slot g alone is completed by device i with the same work and times, (G, I).

        In large fleets only devices with a small `cost` (in units of quality) are looked at; others have infinity.
        """


@dataclass(frozen=True, eq=False)
class Calibrated:
    """The predicted loss (docs/calibration.md)."""

    constants: Constants
    labels: LabelMix | None
    calibration: Calibration
    name: str = "calibrated"

    def terms(self, jobs: TaskJobs) -> dict[str, float]:
        """See `Quality`."""
        seen = features(jobs, self.constants)
        return predict(replace(seen, label_bias=self.label_bias(jobs)), self.calibration).terms()

    def value(self, jobs: TaskJobs) -> float:
        """See `Quality`."""
        return sum(self.terms(jobs).values())

    def slopes(self, jobs: TaskJobs) -> Slopes:
        """See `Quality`."""
        weight = self.calibration.weights
        work = jobs.mix * jobs.steps
        share = jobs.mix * jobs.rate / np.sqrt(1.0 + jobs.staleness)
        N = float(share @ jobs.steps)
        sampling = 1 / jobs.batch - 1 / jobs.samples
        noise = float(work @ sampling) / work.sum()
        steps = weight.training * TRAINING_POWER * N ** (TRAINING_POWER - 1.0) * share
        steps = steps + weight.noise * jobs.mix * (sampling - noise) / work.sum()
        if weight.gram_bias > 0:
            of_amount = gram_bias_gradient(jobs.device, amount(jobs), self.gram)
            steps = steps + weight.gram_bias * of_amount * jobs.mix / (2 * np.sqrt(jobs.steps))
        if self._knows_labels:
            steps = steps + weight.label_bias * self.label_slopes(jobs)
        return Slopes(
            steps=np.asarray(steps),
            batch=np.asarray(-weight.noise * work / work.sum() / jobs.batch**2),
            **vars(self.time_slopes(jobs)),
        )

    def time_slopes(self, jobs: TaskJobs) -> TimeSlopes:
        """See `Quality`."""
        c, weight = self.constants, self.calibration.weights
        return TimeSlopes(
            compute_s=np.asarray(weight.drift * (c.drift_active - c.drift_idle)[jobs.device]),
            under_way_s=np.full(len(jobs), 4.0 * weight.window * float(c.drift_idle_size.sum()) / len(jobs)),
            horizon_s=weight.drift * float(c.drift_idle.sum()),
        )

    def replacements(self, jobs: TaskJobs, cost: FloatArray | None = None) -> FloatArray:
        """See `Quality`."""
        weight = self.calibration.weights
        gained = np.zeros((len(jobs), self.constants.devices))
        if weight.gram_bias > 0:
            gained += weight.gram_bias * gram_bias_of_replacements(jobs.device, amount(jobs), self.gram)
        if not self._knows_labels:
            return gained
        devices = self.constants.devices
        if devices <= MOST_CANDIDATES:
            return gained + weight.label_bias * self._path(jobs).replacements(devices)
        rank = gained if cost is None else gained + cost
        candidates = np.argpartition(rank, MOST_CANDIDATES, axis=1)[:, :MOST_CANDIDATES]
        seen = np.full_like(gained, np.inf)
        np.put_along_axis(seen, candidates, 0.0, axis=1)
        return gained + seen + weight.label_bias * self._path(jobs).replacements(devices, candidates)

    @cached_property
    def gram(self) -> Factors:
        """Gamma in factors."""
        return self.constants.gram_factors

    @property
    def _knows_labels(self) -> bool:
        return self.labels is not None and self.calibration.weights.label_bias > 0

    def _path(self, jobs: TaskJobs) -> LabelPath:
        assert self.labels is not None
        return LabelPath.of(jobs, self.labels, self.calibration.response)

    def label_bias(self, jobs: TaskJobs) -> float:
        """Mean over all slots, so that the model is good all along; 0 where labels are unknown or do not count."""
        return self._path(jobs).mean if self._knows_labels else 0.0

    def label_slopes(self, jobs: TaskJobs) -> FloatArray:
        """Its derivatives with respect to each job's steps, (G,)."""
        return self._path(jobs).slopes() if self._knows_labels else np.zeros(len(jobs))


@dataclass(frozen=True, eq=False)
class Sharp:
    """The sharp bound, per step (docs/theory.md)."""

    constants: Constants
    name: str = "sharp"

    def terms(self, jobs: TaskJobs) -> dict[str, float]:
        """See `Quality`."""
        return sharp(jobs, self.constants).terms()

    def value(self, jobs: TaskJobs) -> float:
        """See `Quality`."""
        return sharp(jobs, self.constants).value

    def slopes(self, jobs: TaskJobs) -> Slopes:
        """See `Quality`."""
        gradient = sharp_gradient(jobs, self.constants)
        return Slopes(steps=gradient.steps, batch=gradient.batch, **vars(self.time_slopes(jobs)))

    def time_slopes(self, jobs: TaskJobs) -> TimeSlopes:
        """See `Quality`."""
        c = self.constants
        N = float(np.sum(jobs.mix * jobs.rate * jobs.steps))
        return TimeSlopes(
            compute_s=np.asarray(2.0 * (c.drift_active - c.drift_idle)[jobs.device] / N),
            under_way_s=np.asarray(jobs.mix * 4.0 * float(c.drift_idle_size.sum()) / N),
            horizon_s=2.0 * float(c.drift_idle.sum()) / N,
        )

    def replacements(self, jobs: TaskJobs, cost: FloatArray | None = None) -> FloatArray:
        """See `Quality`."""
        c, V2 = self.constants, self.constants.regularised_gradient_bound
        N = float(np.sum(jobs.mix * jobs.rate * jobs.steps))
        every = _columns(jobs)
        bias = bias_of_steps(every, c.dissimilarity[None, :], V2)
        sampling = jobs.steps * (1 / jobs.batch - 1 / jobs.samples)
        noise = (c.smoothness * jobs.rate**2 * sampling)[:, None] * c.variability**2 * c.sample_variance
        cost = jobs.mix[:, None] * (jobs.rate[:, None] * bias + noise) / N
        return np.asarray(cost - np.take_along_axis(cost, jobs.device[:, None], axis=1))


@dataclass(frozen=True, eq=False)
class Printed:
    """Theorem 1 as printed; its value may be infinite, so its logarithm is not used: schedules are kept fresh."""

    constants: Constants
    mixing: float
    name: str = "printed"

    def terms(self, jobs: TaskJobs) -> dict[str, float]:
        """See `Quality`."""
        return printed(jobs, self.constants, self.mixing).terms()

    def value(self, jobs: TaskJobs) -> float:
        """See `Quality`."""
        return printed(jobs, self.constants, self.mixing).value

    def slopes(self, jobs: TaskJobs) -> Slopes:
        """See `Quality`. Term (e), which is not differentiable, is left out."""
        c, G = self.constants, len(jobs)
        eta, e, B, D = jobs.rate, jobs.steps, jobs.batch, jobs.samples
        scale = 1.0 / (G * float(eta.min()))
        delta, variance = c.dissimilarity[jobs.device], c.sample_variance[jobs.device]
        rho, V2 = c.weak_convexity, c.regularised_gradient_bound
        spread = (D - 1) / D * c.variability**2 * variance
        noise = 4.0 * c.smoothness * eta**2 * spread
        local = 2.0 * rho * eta**2 * V2
        return Slopes(
            steps=scale * (eta * delta + noise * (1 / B - 1 / D) + local * (rho * eta * (e - 0.5) + 2 * e)),
            batch=-scale * noise * e / B**2,
            **vars(self.time_slopes(jobs)),
        )

    def time_slopes(self, jobs: TaskJobs) -> TimeSlopes:
        """See `Quality`."""
        c, G = self.constants, len(jobs)
        scale = 1.0 / (G * float(jobs.rate.min()))
        idle, active = c.drift_idle[jobs.device], c.drift_active[jobs.device]
        return TimeSlopes(
            compute_s=2.0 * scale * (active - idle),
            under_way_s=np.zeros(G),
            horizon_s=2.0 * scale * float(idle.mean()),
        )

    def replacements(self, jobs: TaskJobs, cost: FloatArray | None = None) -> FloatArray:
        """See `Quality`."""
        c, eta, e = self.constants, jobs.rate, jobs.steps
        scale = 1.0 / (len(jobs) * float(eta.min()))
        spread = (1 / jobs.batch - 1 / jobs.samples) * (jobs.samples - 1) / jobs.samples * c.variability**2
        noise = (4.0 * c.smoothness * eta**2 * e * spread)[:, None] * c.sample_variance
        cost = scale * ((eta * e)[:, None] * c.dissimilarity + noise)
        return np.asarray(cost - np.take_along_axis(cost, jobs.device[:, None], axis=1))


def _columns(jobs: TaskJobs) -> TaskJobs:
    """The same jobs with steps and rate as columns, to be set against all devices."""
    return jobs.with_(steps=jobs.steps[:, None], rate=jobs.rate[:, None])
