"""`calibrated`: the loss that a schedule is predicted to reach (docs/calibration.md), as a loss model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.base.errors import bad_input
from dmafl.planning.loss_models.balance_bound import BalanceBound
from dmafl.planning.loss_models.base import LossModel
from dmafl.planning.loss_models.calibrated_bound import DualFunction
from dmafl.planning.loss_models.drift_terms import (
    DriftWeights,
    relaxed_drift_of_all,
    relaxed_under_way,
    slopes_of_jobs,
)
from dmafl.planning.loss_models.drifting import DriftingLossModel
from dmafl.planning.loss_models.dual_search import DualSearch
from dmafl.planning.loss_models.gram_curvature import gram_band
from dmafl.planning.loss_models.job_batch import JobBatch
from dmafl.planning.loss_models.job_costs import JobCosts
from dmafl.planning.loss_models.label_path import LabelPath
from dmafl.planning.loss_models.label_slopes import Labelled, label_slopes_and_curvature, weights_of_slots
from dmafl.planning.loss_models.relaxed import RelaxedFrame, RelaxedLoss, RelaxedSchedule
from dmafl.planning.loss_models.relaxed_labels import relaxed_label_bias
from dmafl.planning.loss_models.slopes import Slopes
from dmafl.planning.loss_models.surrogate import ExpansionPoint, Surrogate, bend_of_ratio, curvature_by_size
from dmafl.planning.loss_models.task_frame import TaskFrame
from dmafl.planning.task_estimates import TaskEstimates
from dmafl.scenario.model import Task
from dmafl.theory.calibrated import TRAINING_POWER, Calibration, predict
from dmafl.theory.constants import Constants
from dmafl.theory.drift import drift_of_schedules, drift_while_under_way
from dmafl.theory.features import amount, exchange_of_jobs, exchange_weight, features, training_of_jobs
from dmafl.theory.gram_bias import (
    Factors,
    concentration_of_slots,
    diagonal_factors,
    diagonal_gram,
    gram_bias_and_gradient,
    gram_bias_gradient,
    gram_bias_of_replacements,
    gram_bias_of_shares,
    gram_bias_of_slots,
    weighted,
)
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.label_bias import class_scores, loss_by_bias
from dmafl.theory.label_mix import LabelMix

MOST_CHOICES = 20_000
"""Triples of slot, staleness and device up to which a lower bound tells devices apart."""
MOST_CANDIDATES = 48
"""Devices of a large fleet that are looked at for a slot."""
CONCENTRATION = 0.4
"""What it costs if one device alone trains, in units of loss: see `Calibrated.concentration`. docs/planner.md."""
MOST_SPREAD = 300
"""Devices of a fleet up to which concentration counts: it takes one column per device."""


def calibrated(estimates: TaskEstimates, settings: Task, dissimilarity: str) -> LossModel:
    """The model of a task; with the dissimilarity `diagonal`, devices are judged one by one."""
    if estimates.calibration is None:
        raise bad_input(
            "quality",
            "needs a calibration for `calibrated`",
            "no probes",
            "Measure with probes, or plan with the loss model `sharp`.",
        )
    constants = estimates.prediction if estimates.prediction is not None else estimates.constants
    if dissimilarity == "gram":
        spread = CONCENTRATION if constants.devices <= MOST_SPREAD else 0.0
        return Calibrated(constants, estimates.labels, estimates.calibration, spread)
    delta = constants.gram_diagonal
    if constants.factors is None:
        alone = replace(constants, gram=diagonal_gram(delta))
    else:
        alone = replace(constants, factors=diagonal_factors(delta))
    return Calibrated(alone, None, estimates.calibration)


@dataclass(frozen=True, eq=False)
class Calibrated(DriftingLossModel):
    """The predicted loss of a task."""

    constants: Constants
    labels: LabelMix | None
    calibration: Calibration
    concentration: float = 0.0
    """Weight of sum_i p_i^2 - 1/I, mean over slots, p as in the Gram bias. Devices with the same labels still hold
    different samples. Probes tell few devices from many by their labels alone, so that no weight can be fitted."""
    name: ClassVar[str] = "calibrated"
    judges_slots_apart: ClassVar[bool] = False

    def terms(self, jobs: TaskJobs) -> dict[str, float]:
        """See `LossModel`."""
        seen = replace(features(jobs, self.constants), label_bias=self.label_bias(jobs))
        return predict(seen, self.calibration).terms() | {"concentration": self.concentration_term(jobs)}

    def values(self, batch: JobBatch) -> FloatArray:
        """See `LossModel`."""
        weight, jobs, table = self.calibration.weights, batch.end_to_end, batch.table
        drift = drift_of_schedules(batch.device, table(jobs.compute_s), batch.horizon_s, self.constants)
        work = table(jobs.mix * jobs.steps)
        noise = (work * table(1 / jobs.batch - 1 / jobs.samples)).sum(axis=1) / work.sum(axis=1)
        value = weight.constant + weight.noise * noise + weight.drift * drift
        for factor, each in ((weight.training, training_of_jobs), (weight.exchange, exchange_of_jobs)):
            value += factor * table(each(jobs)).sum(axis=1) ** TRAINING_POWER
        amounts = table(amount(jobs))
        if weight.gram_bias > 0:
            value += weight.gram_bias * gram_bias_of_slots(batch.device, amounts, self.gram).mean(axis=1)
        value += self._concentration_terms(batch.device, amounts)
        if self.labels is not None and weight.label_bias > 0:
            time = table(self.calibration.response * jobs.rate * jobs.steps)
            scores = class_scores(batch.device, batch.version, table(jobs.mix), time, self.labels.held)
            losses = loss_by_bias(scores, self.labels.asked)
            value += weight.label_bias * losses @ weights_of_slots(losses.shape[1])
        if weight.window > 0:
            value += weight.window * 4.0 * table(drift_while_under_way(jobs, self.constants)).mean(axis=1)
        return np.asarray(value)

    def lower_bound(self, task: TaskFrame, costs: JobCosts) -> float | None:
        """The dual function at the best prices found; None where drift may help."""
        if self.drift_may_help:
            return None
        c, usable = self.constants, task.usable
        active = (c.drift_active - c.drift_idle)[usable]
        amounts = task.mix_weights.max(axis=1) * np.sqrt(task.steps_range[1])
        balance = self._balance_bound(task, amounts)
        if task.mix_weights.size * len(usable) > MOST_CHOICES:
            costs, active = costs.of_one_device(), active.min(keepdims=True)
            balance = BalanceBound(np.empty((0, 0)), np.zeros(1), balance.constant, amounts)
        idle = float(c.drift_idle.sum())
        return DualSearch(DualFunction(task, self.calibration.weights, costs, idle, active, balance)).bound()

    def _balance_bound(self, task: TaskFrame, amounts: FloatArray) -> BalanceBound:
        """What the balance of devices costs at least."""
        usable, weight = task.usable, task.weight * self.calibration.weights.gram_bias
        if (self.gram.sign < 0).any():  # the diagonal form
            delta = weight * self.constants.gram_diagonal[usable]
            least = float(delta.min())
            return BalanceBound(np.empty((0, 0)), delta - least, least, amounts)
        matrix, constant = np.empty((0, 0)), 0.0
        if self.concentration > 0:
            F, even = self.balance.columns[usable], task.weight * self.concentration
            matrix, constant = task.weight * (F @ F.T), -even / self.devices
        return BalanceBound(matrix, np.zeros(len(usable)), constant, amounts)

    # -- balance of devices and labels ------------------------------------------------------------------

    @cached_property
    def gram(self) -> Factors:
        """Gamma in factors."""
        return self.constants.gram_factors

    @cached_property
    def balance(self) -> Factors:
        """What one-sided shares p cost, in factors: th_Z Gamma + concentration I, but for the constant."""
        parts = [(self.calibration.weights.gram_bias, self.gram)]
        if self.concentration > 0:
            parts.append((self.concentration, Factors(np.eye(self.devices), np.ones(self.devices))))
        return weighted(parts)

    @property
    def knows_balance(self) -> bool:
        """Whether it matters who else trains."""
        return bool(self.balance.columns.shape[1])

    def start_balance(self, *, gram_alone: bool) -> Factors | None:
        """See `LossModel`."""
        if gram_alone:
            return self.gram
        return self.balance if self.knows_balance else None

    def concentration_term(self, jobs: TaskJobs) -> float:
        """What it costs that few devices train; 0 if all have equal shares."""
        return float(self._concentration_terms(jobs.device, amount(jobs)))

    def _concentration_terms(self, device: IntArray, amounts: FloatArray) -> FloatArray:
        """The same of many schedules, (..., G) each, at once."""
        if self.concentration == 0:
            return np.zeros(device.shape[:-1])
        spread = concentration_of_slots(device, amounts, self.devices).mean(axis=-1) - 1.0 / self.devices
        return np.asarray(self.concentration * spread)

    def label_bias(self, jobs: TaskJobs) -> float:
        """Weighted mean over all slots, so that the model is good all along; 0 where labels do not count."""
        path = self._path(jobs)
        return 0.0 if path is None else path.mean

    def _path(self, jobs: TaskJobs) -> LabelPath | None:
        """The class scores of a schedule; None where labels do not count."""
        known = self.labelled(jobs)
        return None if known is None else LabelPath.of(known)

    def labelled(self, jobs: TaskJobs) -> Labelled | None:
        """See `LossModel`."""
        if self.labels is None or self.calibration.weights.label_bias <= 0:
            return None
        return Labelled(jobs, self.labels, self.calibration.response)

    # -- search ---------------------------------------------------------------------------------------

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
        path = self._path(jobs)
        if path is not None:
            value += weight.label_bias * path.mean
            steps = steps + weight.label_bias * path.slopes()
        return Slopes(float(value), np.asarray(steps), -self.noise_weights(jobs) * jobs.steps / jobs.batch**2)

    def noise_weights(self, jobs: TaskJobs) -> FloatArray:
        """See `LossModel`."""
        return np.asarray(self.calibration.weights.noise * jobs.mix / float(jobs.mix @ jobs.steps))

    def drift_weights(self, jobs: TaskJobs) -> DriftWeights:
        """See `DriftingLossModel`."""
        weight, G = self.calibration.weights, len(jobs)
        return DriftWeights(weight.drift, np.full(G, 4.0 * weight.window / G))

    def replacements(
        self, jobs: TaskJobs, cost: FloatArray | None = None, slots: slice = slice(None)
    ) -> FloatArray:
        """See `LossModel`."""
        weight, devices = self.calibration.weights, self.devices
        slot = np.arange(len(jobs))[slots]
        gained = np.zeros((len(slot), devices))
        if self.knows_balance:
            gained += gram_bias_of_replacements(jobs.device, amount(jobs), self.balance, slots=slots)
        path = self._path(jobs)
        if path is None:
            return gained
        if devices <= MOST_CANDIDATES:
            every = np.broadcast_to(np.arange(devices), gained.shape)
            return gained + weight.label_bias * path.replacements(slot, every)
        rank = gained if cost is None else gained + cost
        candidates = np.argpartition(rank, MOST_CANDIDATES, axis=1)[:, :MOST_CANDIDATES]
        labels = weight.label_bias * path.replacements(slot, candidates)
        seen = np.full_like(gained, np.inf)
        np.put_along_axis(seen, candidates, np.take_along_axis(gained, candidates, axis=1) + labels, axis=1)
        return seen

    def slow_slopes(self, jobs: TaskJobs) -> FloatArray:
        """See `LossModel`: those of the label bias."""
        path = self._path(jobs)
        if path is None:
            return np.zeros(len(jobs))
        return self.calibration.weights.label_bias * path.slopes()

    def without_slow_part(self) -> LossModel:
        """See `LossModel`: without its label bias."""
        if self.calibration.weights.label_bias == 0:
            return self
        weights = replace(self.calibration.weights, label_bias=0.0)
        return replace(self, calibration=replace(self.calibration, weights=weights), labels=None)

    # -- resources of a fixed schedule ------------------------------------------------------------------

    def smooth_value(self, jobs: TaskJobs, scores: FloatArray | None) -> float:
        """See `LossModel`."""
        weight = self.calibration.weights
        seen = predict(features(jobs, self.constants), self.calibration).value
        others = self.overlap_value(jobs) if weight.window > 0 else 0.0
        label = 0.0
        if scores is not None and self.labels is not None:
            losses = loss_by_bias(scores, self.labels.asked)
            label = weight.label_bias * float(losses @ weights_of_slots(len(losses)))
        return seen - others + label + self.concentration_term(jobs)

    def surrogate(self, weight: float, at: ExpansionPoint) -> Surrogate:
        """See `LossModel`."""
        jobs, scores = at.jobs, at.scores
        th, e, a = self.calibration.weights, jobs.steps, jobs.mix
        noise, S = weight * th.noise, float(a @ e)
        A_e = a * (2.0 / jobs.batch - 1.0 / jobs.samples)
        A_q = -a / jobs.batch**2
        ratio = float(a @ (e * (1.0 / jobs.batch - 1.0 / jobs.samples))) / S
        of_labels: FloatArray = np.zeros(len(jobs))
        label_band: list[FloatArray] = []
        known = self.labelled(jobs)
        if known is not None and scores is not None:
            of_labels, label_band = label_slopes_and_curvature(known, scores)
        of_labels = weight * th.label_bias * of_labels
        biases = weight * self._balance_slopes(jobs) + of_labels
        curvature = curvature_by_size(of_labels if at.with_bands else biases, e, at.strength)
        drift = self.drift_weights(jobs).times(weight)
        of_ends, of_compute = slopes_of_jobs(jobs, self.constants, drift)
        bands = []
        if at.with_bands and self.knows_balance:
            bands.append([weight * diagonal for diagonal in gram_band(self.balance, jobs)])
        if at.with_bands and label_band:
            bands.append([weight * th.label_bias * diagonal for diagonal in label_band])
        return Surrogate(
            steps=biases - curvature * e - noise * a * (1.0 / jobs.samples + ratio) / S,
            curvature=curvature,
            noise=noise * a / S,
            compute_s=of_compute,
            ends_s=of_ends,
            training=weight * th.training,
            share=exchange_of_jobs(jobs) * jobs.rate,
            bend=bend_of_ratio(jobs, noise / S**2, A_e - ratio * a, A_q, np.zeros(len(jobs)), a),
            bands=tuple(bands),
        )

    def _balance_slopes(self, jobs: TaskJobs) -> FloatArray:
        """Derivatives of what one-sidedness costs with respect to each job's steps, (G,)."""
        if not self.knows_balance:
            return np.zeros(len(jobs))
        of_amount = gram_bias_gradient(jobs.device, amount(jobs), self.balance)
        return np.asarray(of_amount * jobs.mix / (2.0 * np.sqrt(jobs.steps)))

    def relaxed(self, frame: RelaxedFrame) -> RelaxedLoss:
        """See `LossModel`."""
        return RelaxedCalibrated(self, frame)


@dataclass(frozen=True, eq=False)
class RelaxedCalibrated:
    """The predicted loss of a relaxed schedule."""

    model: Calibrated
    frame: RelaxedFrame

    def __call__(self, at: RelaxedSchedule) -> tuple[float, RelaxedSchedule]:
        """See `RelaxedLoss`."""
        model, f = self.model, self.frame
        weight, (G, _, S) = model.calibration.weights, at.x.shape
        exchanged = exchange_weight(f.mix, np.arange(S))
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

        if model.knows_balance:
            root = np.sqrt(at.steps)
            Z, of_amount = gram_bias_of_shares(mixed * root[:, None], model.balance)
            value += Z - model.concentration / model.devices
            x += (of_amount * root[:, None])[:, :, None] * f.mix[:, None, :]
            steps += (of_amount * mixed).sum(axis=1) / (2 * root)
        if weight.label_bias > 0 and model.labels is not None:
            response = model.calibration.response * f.rate
            L, of_x, of_time = relaxed_label_bias(at.x, f.mix, response * at.steps, model.labels)
            value += weight.label_bias * L
            x += weight.label_bias * of_x
            steps += weight.label_bias * response * of_time

        drift = relaxed_drift_of_all(at, model.constants)
        way = relaxed_under_way(at, model.constants, f, np.full((G, S), 1.0 / G))
        value += weight.drift * drift[0] + weight.window * way[0]
        return value, RelaxedSchedule(
            x=x + weight.drift * drift[1].x + weight.window * way[1].x,
            steps=steps,
            batch=batch,
            compute_s=weight.drift * drift[1].compute_s + weight.window * way[1].compute_s,
            end_s=weight.drift * drift[1].end_s,
        )
