"""A value that loss and energy of no schedule go below, for `calibrated`: a dual function (docs/planner-inside.md).

Sums over jobs are priced: training, exchange, samples, seconds. Every slot then chooses the device, the staleness, the
steps, the batch and the frequency that cost least by themselves. What they cost together is a lower bound whatever the
prices are, so that prices need not be the best ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.planning.loss_models.balance_bound import BalanceBound
from dmafl.planning.loss_models.job_costs import JobCosts
from dmafl.planning.loss_models.task_frame import TaskFrame
from dmafl.theory.calibrated import TRAINING_POWER, Prediction
from dmafl.theory.features import exchange_weight

SMALLEST = 1e-150
"""Stands for a cost of 0 where it is divided by."""


@dataclass(frozen=True, eq=False)
class Prices:
    """Of the sums over jobs; any numbers give a bound."""

    training: float
    """N at which the training term is linearised."""
    exchange: float
    """V at which the exchange term is linearised."""
    work: float
    """Of a unit of A = sum alpha e, which must lie in the piece that is looked at; may be negative."""
    second: FloatArray
    """Of a second of jobs with a staleness below r, r = 1 to R, (R,): they last at most r times as long as the task."""
    device: FloatArray
    """Extra cost of each device through balance, >= 0, (U,)."""


@dataclass(frozen=True, eq=False)
class Slope:
    """Derivatives of the smoothed dual function: what the slots choose in all, less what the limits allow."""

    training: float
    exchange: float
    work: float
    second: FloatArray
    device: FloatArray


@dataclass(frozen=True, eq=False)
class DualFunction:
    """The dual function of one task."""

    frame: TaskFrame
    weights: Prediction
    costs: JobCosts
    idle_drift: float
    """Loss by a second of the task: sum over devices."""
    active_drift: FloatArray
    """Further loss by a second of computing, by usable device, (U,)."""
    balance: BalanceBound

    # -- tables: slots, staleness, devices -------------------------------------------------------------

    @cached_property
    def _transfers(self) -> tuple[FloatArray, FloatArray]:
        """Cost and seconds of both transfers, (G, S, U); infinite cost where the version does not exist."""
        G, S = self.frame.mix_weights.shape
        slot = np.arange(G)[:, None]
        version = slot - np.arange(S)[None, :]
        known = np.maximum(version, 0)
        cost = self.costs.upload.T[:, None, :] + self.costs.download.T[known]
        seconds = self.costs.upload_s.T[:, None, :] + self.costs.download_s.T[known]
        return np.where((version >= 0)[:, :, None], cost, np.inf), np.asarray(seconds)

    @cached_property
    def _mix(self) -> FloatArray:
        """alpha, (G, S, 1); one row for all slots where it is the same in all."""
        alpha = self.frame.mix_weights
        return np.asarray((alpha[:1] if (alpha == alpha[0]).all() else alpha)[:, :, None])

    @cached_property
    def _exchanged(self) -> FloatArray:
        """What a job adds to V, shaped like alpha."""
        return exchange_weight(self._mix, np.arange(self._mix.shape[1])[None, :, None])

    @cached_property
    def _share(self) -> FloatArray:
        """The least share of a job in the balance, for a step, (G, S, 1): it grows with the root of the steps."""
        return self.balance.share(self.frame.mix_weights)[:, :, None]

    @cached_property
    def _at_a_time(self) -> FloatArray:
        """Which stalenesses each price of seconds is for, (R, S)."""
        R, S = self.costs.most_in_flight, self._mix.shape[1]
        counts = np.arange(S)[None, :] < np.arange(1, R + 1)[:, None]
        counts[-1] = True
        return counts.astype(np.float64)

    @cached_property
    def work_range(self) -> tuple[float, float]:
        """What A = sum alpha e can be."""
        alpha, (low, high) = self.frame.mix_weights, self.frame.steps_range
        return low * float(alpha.min(axis=1).sum()), high * float(alpha.max(axis=1).sum())

    @cached_property
    def most_exchange(self) -> float:
        """The largest V: all jobs fresh."""
        alpha = self.frame.mix_weights
        return float(exchange_weight(alpha, np.arange(alpha.shape[1])).max(axis=1).sum())

    @cached_property
    def scale(self) -> float:
        """About what the task costs."""
        low, high = self.work_range
        N = self.frame.rate * np.sqrt(low * high)
        loss = float(self.frame.weight * (self.weights.constant + self.weights.training * N**TRAINING_POWER))
        if loss > 0:
            return loss
        # Probes may find that more training changes nothing: then the other causes, or the joules, give the unit.
        c = self.weights
        others = c.exchange + c.gram_bias + c.label_bias + c.noise + c.drift + c.window
        joules = self.frame.slots * float(self.costs.upload.min() + self.costs.download.min())
        return float(self.frame.weight * others + joules) or 1.0

    # -- the function ---------------------------------------------------------------------------------

    def value(self, prices: Prices, piece: tuple[float, float], heat: float = 0.0) -> tuple[float, Slope]:
        """The bound for schedules whose A lies in the piece; with `heat`, a smooth function a little below it."""
        frame, w, c = self.frame, self.weights, self.costs
        training, of_N = _tangent(frame.weight * w.training, prices.training)
        exchange, of_V = _tangent(frame.weight * w.exchange, prices.exchange)
        second = prices.second @ self._at_a_time  # of a job, by staleness
        sample = self._sample(second)
        noisy = frame.weight * w.noise * self._mix / piece[1]
        B = np.clip(np.sqrt(noisy / np.maximum(sample.cost, SMALLEST)), *frame.batch_range)
        of_step = noisy / B + sample.cost * B - of_N * frame.rate * self._exchanged - prices.work * self._mix
        transfer, seconds = self._transfers
        base = transfer + second[:, None] * seconds - of_V * self._exchanged
        steps = np.asarray(frame.steps_range)
        cost = np.stack(
            [base + (e * of_step + np.sqrt(e) * self._share * prices.device) for e in steps], axis=1
        )
        least, chosen = _least(cost.reshape(len(cost), -1), heat)
        chosen = chosen.reshape(cost.shape)  # (G, 2, S, U)
        at_a_time = np.arange(1, len(prices.second) + 1)
        of_end = frame.weight * w.drift * self.idle_drift - float(at_a_time @ prices.second)
        end, H = _least_product(of_end, (0.0, c.window_s), heat)
        done, A = _least_product(prices.work, piece, heat)
        even, of_device = self.balance.value_and_slope(prices.device)
        total = float(least.sum()) + training + exchange + end + done + even
        total += frame.weight * (w.constant - w.noise / frame.samples_at_start)
        used, e_chosen, roots = (
            np.einsum("e,gesu->gsu", factor, chosen) for factor in (np.ones(2), steps, np.sqrt(steps))
        )
        busy = (used * seconds + e_chosen * (B * sample.seconds)).sum(axis=(0, 2))
        N = frame.rate * float((self._exchanged * e_chosen).sum())
        return total, Slope(
            training=_bend(frame.weight * w.training, prices.training) * (N - prices.training),
            exchange=_bend(frame.weight * w.exchange, prices.exchange)
            * (float((self._exchanged * used).sum()) - prices.exchange),
            work=A - float((self._mix * e_chosen).sum()),
            second=self._at_a_time @ busy - at_a_time * H,
            device=of_device + (self._share * roots).sum(axis=(0, 1)),
        )

    def _sample(self, second: FloatArray) -> _Sample:
        """A sample at its best frequency, where a second of a job has these prices by staleness."""
        c = self.costs
        price = second[:, None] + self.frame.weight * self.weights.drift * self.active_drift
        best = np.cbrt(np.maximum(price, 0.0) * c.cycles / (2.0 * np.maximum(c.sample, SMALLEST)))
        f = np.clip(best, c.lowest_Hz, c.highest_Hz)
        return _Sample(c.sample * f**2 + price * c.cycles / f, c.cycles / f)


class _Sample(NamedTuple):
    """Of every staleness and device, (S, U) each."""

    cost: FloatArray
    """Energy and time of a sample."""
    seconds: FloatArray


def _tangent(weight: float, at: float) -> tuple[float, float]:
    """weight x^(-1/3) >= first - second x, which touches at `at`."""
    slope = -TRAINING_POWER * weight * at ** (TRAINING_POWER - 1.0)
    return weight * at**TRAINING_POWER + slope * at, slope


def _bend(weight: float, at: float) -> float:
    """By how much that slope falls with `at`, >= 0."""
    return float(TRAINING_POWER * (TRAINING_POWER - 1.0) * weight * at ** (TRAINING_POWER - 2.0))


def _least_product(price: float, ends: tuple[float, float], heat: float) -> tuple[float, float]:
    """The least of price times a number between the ends, and that number; smoothed with heat."""
    least, chosen = _least(price * np.asarray([ends]), heat)
    return float(least[0]), float(chosen[0] @ np.asarray(ends))


def _least(cost: FloatArray, heat: float) -> tuple[FloatArray, FloatArray]:
    """The least of every row, and which it is; with heat, a little less, and shares."""
    least = cost.min(axis=1)
    if heat == 0:
        chosen = np.zeros_like(cost)
        chosen[np.arange(len(cost)), cost.argmin(axis=1)] = 1.0
        return least, chosen
    share = np.exp((least[:, None] - cost) / heat)
    total = share.sum(axis=1)
    return least - heat * np.log(total), share / total[:, None]
