"""Quality models as the planner sees them: value, terms, slopes, and what a change of device does to them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from dmafl.randomness import FloatArray
from dmafl.theory.calibrated import TRAINING_POWER, Calibration, predict
from dmafl.theory.constants import Constants
from dmafl.theory.features import RECENT, LabelMix, amount, class_scores, features, loss_by_bias
from dmafl.theory.gram_bias import Factors, gram_bias_gradient, gram_bias_of_replacements
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.printed import printed
from dmafl.theory.sharp import bias_of_steps, sharp, sharp_gradient

FORGOTTEN = 1e-4
"""What is left of a class score when the slots before it no longer matter."""
_STEP = 1e-3
"""Relative change of steps for the slopes of the label bias."""


@dataclass(frozen=True, eq=False)
class Slopes:
    """Derivatives of a quality with respect to each job's steps and batch, (G,), to each second of its computation
    and of the time from its download to its aggregation, and to the end of the task."""

    steps: FloatArray
    batch: FloatArray
    compute_s: FloatArray
    under_way_s: FloatArray
    horizon_s: float


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

    def replacements(self, jobs: TaskJobs) -> FloatArray:
        """What the value gains if slot g alone is completed by device i with the same work and times, (G, I)."""


@dataclass(frozen=True, eq=False)
class Calibrated:
    """The predicted loss. SPEC 6."""

    constants: Constants
    labels: LabelMix | None
    calibration: Calibration
    name: str = "calibrated"

    def terms(self, jobs: TaskJobs) -> dict[str, float]:
        """See `Quality`."""
        seen = features(jobs, self.constants, self.labels, self.calibration.response)
        return predict(seen, self.calibration).terms()

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
        if weight.label_bias > 0:
            steps = steps + weight.label_bias * self._label_slopes(jobs)
        c = self.constants
        return Slopes(
            steps=np.asarray(steps),
            batch=np.asarray(-weight.noise * work / work.sum() / jobs.batch**2),
            compute_s=np.asarray(weight.drift * (c.drift_active - c.drift_idle)[jobs.device]),
            under_way_s=np.full(len(jobs), 4.0 * weight.window * float(c.drift_idle_size.sum()) / len(jobs)),
            horizon_s=weight.drift * float(c.drift_idle.sum()),
        )

    def replacements(self, jobs: TaskJobs) -> FloatArray:
        """See `Quality`."""
        weight = self.calibration.weights
        gained = np.zeros((len(jobs), self.constants.devices))
        if weight.gram_bias > 0:
            gained += weight.gram_bias * gram_bias_of_replacements(jobs.device, amount(jobs), self.gram)
        if weight.label_bias > 0:
            tail, changed = self._label_replacements(jobs)
            gained[-tail:] += weight.label_bias * changed
        return gained

    @cached_property
    def gram(self) -> Factors:
        """Gamma in factors."""
        return self.constants.gram_factors

    def _tail(self, jobs: TaskJobs) -> int:
        """How many of the last slots decide the label bias; what came before is forgotten."""
        kept = -np.cumsum(np.log1p(-np.minimum(jobs.mix, 0.999))[::-1])
        recent = min(RECENT, len(jobs)) - 1
        needed = int(np.searchsorted(kept - kept[recent], -np.log(FORGOTTEN))) + 1
        return min(len(jobs), needed)

    def _label_losses(self, jobs: TaskJobs, device: FloatArray, steps: FloatArray) -> FloatArray:
        """Label bias of many variants of the last slots at once: `device` and `steps` are (n, tail)."""
        assert self.labels is not None
        n, tail = device.shape
        first = len(jobs) - tail
        version = np.maximum(jobs.version[first:] - first, 0)
        time = self.calibration.response * jobs.rate[first:] * steps
        scores = class_scores(
            device,
            np.broadcast_to(version, (n, tail)),
            np.broadcast_to(jobs.mix[first:], (n, tail)),
            time,
            self.labels.held,
        )
        return np.asarray(loss_by_bias(scores[:, -RECENT:], self.labels.asked).mean(axis=-1))

    def _label_slopes(self, jobs: TaskJobs) -> FloatArray:
        tail = self._tail(jobs)
        steps, device = jobs.steps[-tail:], jobs.device[-tail:]
        varied = np.concatenate([steps * (1.0 + _STEP * np.eye(tail)), steps[None]])
        losses = self._label_losses(jobs, np.broadcast_to(device, varied.shape), varied)
        slopes = np.zeros(len(jobs))
        slopes[-tail:] = (losses[:-1] - losses[-1]) / (_STEP * steps)
        return slopes

    def _label_replacements(self, jobs: TaskJobs) -> tuple[int, FloatArray]:
        tail, I = self._tail(jobs), self.constants.devices  # noqa: E741
        now, steps = jobs.device[-tail:], jobs.steps[-tail:]
        changed = np.empty((tail, I))
        own = float(self._label_losses(jobs, now[None], steps[None])[0])
        for slot in range(tail):  # a slot at a time bounds the memory
            device = np.broadcast_to(now, (I, tail)).copy()
            device[:, slot] = np.arange(I)
            changed[slot] = self._label_losses(jobs, device, np.broadcast_to(steps, (I, tail))) - own
        return tail, changed


@dataclass(frozen=True, eq=False)
class Sharp:
    """The sharp bound, per step. SPEC 6."""

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
        c, gradient = self.constants, sharp_gradient(jobs, self.constants)
        N = float(np.sum(jobs.mix * jobs.rate * jobs.steps))
        return Slopes(
            steps=gradient.steps,
            batch=gradient.batch,
            compute_s=np.asarray(2.0 * (c.drift_active - c.drift_idle)[jobs.device] / N),
            under_way_s=np.asarray(jobs.mix * 4.0 * float(c.drift_idle_size.sum()) / N),
            horizon_s=2.0 * float(c.drift_idle.sum()) / N,
        )

    def replacements(self, jobs: TaskJobs) -> FloatArray:
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
        idle, active = c.drift_idle[jobs.device], c.drift_active[jobs.device]
        none = np.zeros(G)
        return Slopes(
            steps=scale * (eta * delta + noise * (1 / B - 1 / D) + local * (rho * eta * (e - 0.5) + 2 * e)),
            batch=-scale * noise * e / B**2,
            compute_s=2.0 * scale * (active - idle),
            under_way_s=none,
            horizon_s=2.0 * scale * float(idle.mean()),
        )

    def replacements(self, jobs: TaskJobs) -> FloatArray:
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
