"""Quality models as the planner sees them: value, terms, slopes, and what a change of device does to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.planning.loss_models.label_path import LabelPath
from dmafl.theory.calibrated import TRAINING_POWER, Calibration, predict
from dmafl.theory.constants import Constants
from dmafl.theory.features import amount, exchange_of_jobs, features
from dmafl.theory.gram_bias import (
    Factors,
    concentration_of_slots,
    gram_bias_and_gradient,
    gram_bias_of_replacements,
    weighted,
)
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.label_mix import LabelMix
from dmafl.theory.sharp import sharp, sharp_gradient
from dmafl.theory.step_bias import bias, drag
from dmafl.theory.theorem1 import theorem1

MOST_CANDIDATES = 48
"""Devices of a large fleet that are looked at for a slot."""
CONCENTRATION = 0.4
"""What it costs if one device alone trains, in units of loss: see `Calibrated.concentration`. docs/planner.md."""
MOST_SPREAD = 300
"""Devices of a fleet up to which concentration counts: it takes a column a device."""


@dataclass(frozen=True, eq=False)
class TimeSlopes:
    """Derivatives of a quality with respect to times; those of other jobs are held."""

    compute_s: FloatArray
    """To a second of a job's computation, by the device that does it, (I,)."""
    under_way_s: FloatArray
    """To a second from a job's download to its aggregation, (G,)."""
    horizon_s: float
    """To the end of the task."""


@dataclass(frozen=True, eq=False)
class Slopes:
    """Derivatives of a quality with respect to each job's steps and batch, (G,); times are held."""

    value: float
    """The quality, but for terms that only times change."""
    steps: FloatArray
    batch: FloatArray


class LossModel(Protocol):
    """What a schedule of one task is worth; smaller is better."""

    @property
    def name(self) -> str:
        """Name of the model."""

    def terms(self, jobs: TaskJobs) -> dict[str, float]:
        """The terms by name; they add up to the value."""

    def value(self, jobs: TaskJobs) -> float:
        """The value."""

    def slopes(self, jobs: TaskJobs) -> Slopes:
        """Derivatives with respect to work."""

    def noise_weights(self, jobs: TaskJobs) -> FloatArray:
        """What e (1/B - 1/D) of each job adds to the value, (G,); no batch changes it."""

    def time_slopes(self, jobs: TaskJobs) -> TimeSlopes:
        """Derivatives with respect to times."""

    def replacements(
        self, jobs: TaskJobs, cost: FloatArray | None = None, slots: slice = slice(None)
    ) -> FloatArray:
        """What the value gains if slot g alone is completed by device i with the same work and times, (slots, I).

        In large fleets only devices with a small `cost` (in units of quality) are looked at; others have infinity.
        """


@dataclass(frozen=True, eq=False)
class Calibrated:
    """The predicted loss (docs/calibration.md)."""

    constants: Constants
    labels: LabelMix | None
    calibration: Calibration
    concentration: float = 0.0
    """Weight of sum_i p_i^2 - 1/I, mean over slots, p as in the Gram bias. Devices with the same labels still hold
    different samples. Probes tell few devices from many by their labels alone, so that no weight can be fitted."""
    name: str = "calibrated"

    def terms(self, jobs: TaskJobs) -> dict[str, float]:
        """See `LossModel`."""
        seen = features(jobs, self.constants)
        predicted = predict(replace(seen, label_bias=self.label_bias(jobs)), self.calibration).terms()
        return predicted | {"concentration": self.concentration_term(jobs)}

    def concentration_term(self, jobs: TaskJobs) -> float:
        """What it costs that few devices train; 0 if all have equal shares."""
        return float(self.concentration_terms(jobs.device, amount(jobs)))

    def concentration_terms(self, device: IntArray, amounts: FloatArray) -> FloatArray:
        """The same of many schedules, (..., G) each, at once."""
        if self.concentration == 0:
            return np.zeros(device.shape[:-1])
        devices = self.constants.devices
        spread = concentration_of_slots(device, amounts, devices).mean(axis=-1) - 1.0 / devices
        return np.asarray(self.concentration * spread)

    def value(self, jobs: TaskJobs) -> float:
        """See `LossModel`."""
        return sum(self.terms(jobs).values())

    def slopes(self, jobs: TaskJobs) -> Slopes:
        """See `LossModel`."""
        weight = self.calibration.weights
        work = jobs.mix * jobs.steps
        exchanged = exchange_of_jobs(jobs)
        share = exchanged * jobs.rate
        N = float(share @ jobs.steps)
        sampling = 1 / jobs.batch - 1 / jobs.samples
        noise = float(work @ sampling) / work.sum()
        value = weight.training * N**TRAINING_POWER + weight.noise * noise
        value += weight.exchange * float(exchanged.sum()) ** TRAINING_POWER
        steps = weight.training * TRAINING_POWER * N ** (TRAINING_POWER - 1.0) * share
        steps = steps + weight.noise * jobs.mix * (sampling - noise) / work.sum()
        if self.knows_balance:
            bias, of_amount = gram_bias_and_gradient(jobs.device, amount(jobs), self.balance)
            value += bias
            steps = steps + of_amount * jobs.mix / (2 * np.sqrt(jobs.steps))
        if self._knows_labels:
            path = self._path(jobs)
            value += weight.label_bias * path.mean
            steps = steps + weight.label_bias * path.slopes()
        return Slopes(float(value), np.asarray(steps), -self.noise_weights(jobs) * jobs.steps / jobs.batch**2)

    def noise_weights(self, jobs: TaskJobs) -> FloatArray:
        """See `LossModel`."""
        return np.asarray(self.calibration.weights.noise * jobs.mix / float(jobs.mix @ jobs.steps))

    def time_slopes(self, jobs: TaskJobs) -> TimeSlopes:
        """See `LossModel`."""
        c, weight = self.constants, self.calibration.weights
        return TimeSlopes(
            compute_s=np.asarray(
                weight.drift * (c.drift_active - c.drift_idle)
                + 4.0 * weight.window / len(jobs) * (c.drift_active_size - c.drift_idle_size)
            ),
            under_way_s=np.full(len(jobs), 4.0 * weight.window * float(c.drift_idle_size.sum()) / len(jobs)),
            horizon_s=weight.drift * float(c.drift_idle.sum()),
        )

    def replacements(
        self, jobs: TaskJobs, cost: FloatArray | None = None, slots: slice = slice(None)
    ) -> FloatArray:
        """See `LossModel`."""
        weight, devices = self.calibration.weights, self.constants.devices
        slot = np.arange(len(jobs))[slots]
        gained = np.zeros((len(slot), devices))
        if self.knows_balance:
            gained += gram_bias_of_replacements(jobs.device, amount(jobs), self.balance, slots=slots)
        if not self._knows_labels:
            return gained
        if devices <= MOST_CANDIDATES:
            every = np.broadcast_to(np.arange(devices), gained.shape)
            return gained + weight.label_bias * self._path(jobs).replacements(slot, every)
        rank = gained if cost is None else gained + cost
        candidates = np.argpartition(rank, MOST_CANDIDATES, axis=1)[:, :MOST_CANDIDATES]
        labels = weight.label_bias * self._path(jobs).replacements(slot, candidates)
        seen = np.full_like(gained, np.inf)
        np.put_along_axis(seen, candidates, np.take_along_axis(gained, candidates, axis=1) + labels, axis=1)
        return seen

    @cached_property
    def gram(self) -> Factors:
        """Gamma in factors."""
        return self.constants.gram_factors

    @cached_property
    def balance(self) -> Factors:
        """What one-sided shares p cost, in factors: th_Z Gamma + concentration I, but for the constant."""
        parts = [(self.calibration.weights.gram_bias, self.gram)]
        if self.concentration > 0:
            devices = self.constants.devices
            parts.append((self.concentration, Factors(np.eye(devices), np.ones(devices))))
        return weighted(parts)

    @property
    def knows_balance(self) -> bool:
        """Whether it matters who else trains."""
        return bool(self.balance.columns.shape[1])

    @property
    def _knows_labels(self) -> bool:
        return self.labels is not None and self.calibration.weights.label_bias > 0

    def _path(self, jobs: TaskJobs) -> LabelPath:
        assert self.labels is not None
        return LabelPath.of(jobs, self.labels, self.calibration.response)

    def label_bias(self, jobs: TaskJobs) -> float:
        """Weighted mean over all slots, so that the model is good all along; 0 where labels do not count."""
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
        """See `LossModel`."""
        return sharp(jobs, self.constants).terms()

    def value(self, jobs: TaskJobs) -> float:
        """See `LossModel`."""
        return sharp(jobs, self.constants).value

    def slopes(self, jobs: TaskJobs) -> Slopes:
        """See `LossModel`."""
        gradient = sharp_gradient(jobs, self.constants)
        return Slopes(gradient.value, gradient.steps, gradient.batch)

    def noise_weights(self, jobs: TaskJobs) -> FloatArray:
        """See `LossModel`."""
        c, N = self.constants, float(np.sum(jobs.mix * jobs.rate * jobs.steps))
        variance = c.variability**2 * c.sample_variance[jobs.device]
        return np.asarray(jobs.mix * c.smoothness * jobs.rate**2 * variance / N)

    def time_slopes(self, jobs: TaskJobs) -> TimeSlopes:
        """See `LossModel`."""
        c = self.constants
        N = float(np.sum(jobs.mix * jobs.rate * jobs.steps))
        return TimeSlopes(
            compute_s=np.asarray(
                2.0 / N * (c.drift_active - c.drift_idle)
                + 4.0 * float(jobs.mix.mean()) / N * (c.drift_active_size - c.drift_idle_size)
            ),
            under_way_s=np.asarray(jobs.mix * 4.0 * float(c.drift_idle_size.sum()) / N),
            horizon_s=2.0 * float(c.drift_idle.sum()) / N,
        )

    def replacements(
        self, jobs: TaskJobs, cost: FloatArray | None = None, slots: slice = slice(None)
    ) -> FloatArray:
        """See `LossModel`."""
        c, V2 = self.constants, self.constants.regularised_gradient_bound
        N = float(np.sum(jobs.mix * jobs.rate * jobs.steps))
        mix, rate, steps = (column[slots, None] for column in (jobs.mix, jobs.rate, jobs.steps))
        of_bias = bias(steps, c.dissimilarity[None, :], drag(jobs.proximal, rate, V2))
        sampling = steps * (1 / jobs.batch - 1 / jobs.samples)[slots, None]
        noise = c.smoothness * rate**2 * sampling * c.variability**2 * c.sample_variance
        cost = mix * (rate * of_bias + noise) / N
        return np.asarray(cost - np.take_along_axis(cost, jobs.device[slots, None], axis=1))


@dataclass(frozen=True, eq=False)
class Theorem1:
    """Theorem 1 as printed; its value may be infinite, so its logarithm is not used: schedules are kept fresh."""

    constants: Constants
    mixing: float
    name: str = "printed"

    def terms(self, jobs: TaskJobs) -> dict[str, float]:
        """See `LossModel`."""
        return theorem1(jobs, self.constants, self.mixing).terms()

    def value(self, jobs: TaskJobs) -> float:
        """See `LossModel`."""
        return theorem1(jobs, self.constants, self.mixing).value

    def slopes(self, jobs: TaskJobs) -> Slopes:
        """See `LossModel`. Term (e), which is not differentiable, is left out."""
        c, G = self.constants, len(jobs)
        eta, e, B, D = jobs.rate, jobs.steps, jobs.batch, jobs.samples
        scale = 1.0 / (G * float(eta.min()))
        delta, variance = c.dissimilarity[jobs.device], c.sample_variance[jobs.device]
        rho, V2 = c.weak_convexity, c.regularised_gradient_bound
        spread = (D - 1) / D * c.variability**2 * variance
        noise = 4.0 * c.smoothness * eta**2 * spread
        local = 2.0 * rho * eta**2 * V2
        return Slopes(
            value=self.value(jobs),
            steps=scale * (eta * delta + noise * (1 / B - 1 / D) + local * (rho * eta * (e - 0.5) + 2 * e)),
            batch=-scale * noise * e / B**2,
        )

    def noise_weights(self, jobs: TaskJobs) -> FloatArray:
        """See `LossModel`."""
        c, D = self.constants, jobs.samples
        spread = (D - 1) / D * c.variability**2 * c.sample_variance[jobs.device]
        return np.asarray(4.0 * c.smoothness * jobs.rate**2 * spread / (len(jobs) * float(jobs.rate.min())))

    def time_slopes(self, jobs: TaskJobs) -> TimeSlopes:
        """See `LossModel`."""
        c, G = self.constants, len(jobs)
        scale = 1.0 / (G * float(jobs.rate.min()))
        return TimeSlopes(
            compute_s=2.0 * scale * (c.drift_active - c.drift_idle),
            under_way_s=np.zeros(G),
            horizon_s=2.0 * scale * float(c.drift_idle[jobs.device].mean()),
        )

    def replacements(
        self, jobs: TaskJobs, cost: FloatArray | None = None, slots: slice = slice(None)
    ) -> FloatArray:
        """See `LossModel`."""
        c, eta, e = self.constants, jobs.rate, jobs.steps
        scale = 1.0 / (len(jobs) * float(eta.min()))
        spread = (1 / jobs.batch - 1 / jobs.samples) * (jobs.samples - 1) / jobs.samples * c.variability**2
        noise = (4.0 * c.smoothness * eta**2 * e * spread)[slots, None] * c.sample_variance
        cost = scale * ((eta * e)[slots, None] * c.dissimilarity + noise)
        return np.asarray(cost - np.take_along_axis(cost, jobs.device[slots, None], axis=1))
