"""What other devices would do in every slot at given prices, and what the priced objective would gain by it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.planning.decision import GivenWork, TaskDecision
from dmafl.planning.effort import UNLIMITED, Effort
from dmafl.planning.loss_models.models import Sharp
from dmafl.planning.problem import TaskProblem
from dmafl.planning.search.prices import UnitCosts
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.sharp import sharp, sharp_staleness_slope, slope_in_steps

AT_ONCE = 1_000_000
"""Pairs of slot and device that are looked at together: bounds the memory."""


@dataclass(frozen=True, eq=False)
class ReassignmentGains:
    """The best offer for every slot alone, (G,) each."""

    gain: FloatArray
    """What the priced objective gains: negative is better; infinite where no other device is allowed."""
    device: IntArray
    steps: FloatArray
    batch: FloatArray


def reassignment_gains(
    task: TaskProblem,
    decision: TaskDecision,
    jobs: TaskJobs,
    costs: UnitCosts,
    drawn: GivenWork | None = None,
    effort: Effort = UNLIMITED,
) -> ReassignmentGains:
    """The best other device of each slot; with the work that is best for it where the quality is `sharp`."""
    closed = _Closed(task, decision)
    some = max(1, AT_ONCE // len(costs.sample))
    parts = []
    for first in range(0, task.slots, some):
        effort.look()
        slots = slice(first, first + some)
        gain, steps, batch = _of_slots(task, decision, jobs, costs, drawn, slots)
        gain = np.where(closed.of(slots, gain.shape[1]), np.inf, gain)
        best = gain.argmin(axis=1)[:, None]
        own = [np.take_along_axis(values, best, axis=1)[:, 0] for values in (gain, steps, batch)]
        parts.append((own[0], best[:, 0], own[1], own[2]))
    return ReassignmentGains(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _of_slots(
    task: TaskProblem,
    decision: TaskDecision,
    jobs: TaskJobs,
    costs: UnitCosts,
    drawn: GivenWork | None,
    slots: slice,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Gain, steps and batch of every device in these slots, (slots, I) each."""
    radio, own = costs.transfers(task, decision.version, slots), decision.device[slots, None]
    if drawn is None and isinstance(task.loss_model, Sharp):
        gain, steps, batch = _sharp(task, task.loss_model, jobs, costs, slots)
        return gain + radio - np.take_along_axis(radio, own, axis=1), steps, batch
    if drawn is None:
        given = decision.steps[slots, None], decision.batch[slots, None]
    else:
        given = drawn.steps[None, :], drawn.batch[None, :]
    steps, batch = (np.broadcast_to(column, radio.shape) for column in given)
    cost = radio + costs.sample * (steps * batch)
    quality = task.loss_model.replacements(jobs, cost / max(task.weight, 1e-150), slots)
    return cost - np.take_along_axis(cost, own, axis=1) + task.weight * quality, steps, batch


def _sharp(
    task: TaskProblem, quality: Sharp, jobs: TaskJobs, costs: UnitCosts, slots: slice
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What quality and samples gain by the best work of every device in these slots, its steps and its batch.

    Num / N changes by (dNum - (Num / N) dN) / (N + dN). Its numerator and the price of samples are least where
    B = sqrt(what noise costs / price of a sample), whatever e is, and e solves a quadratic equation.
    """
    c = quality.constants
    bound = sharp(jobs, c)
    N, value = bound.steps, bound.value
    i = jobs.device[slots, None]
    e, B, mix, rate, samples = (
        column[slots, None] for column in (jobs.steps, jobs.batch, jobs.mix, jobs.rate, jobs.samples)
    )
    each = jobs.with_(mix=mix, rate=rate, samples=samples)
    delta, variance = c.dissimilarity[None, :], c.variability**2 * c.sample_variance[None, :]
    sample = costs.sample * (N / max(task.weight, 1e-150))  # in units of Num
    batch = mix * c.smoothness * rate**2 * variance / np.maximum(sample, 1e-150)
    batch = np.clip(np.sqrt(batch), *task.batch_range)
    pull = sharp_staleness_slope(jobs, c)[slots, None] - value * mix * rate
    constant, linear, square = slope_in_steps(each, c, delta, variance, batch)
    steps = np.clip(_root(constant + pull + sample * batch, linear, square), *task.steps_range)
    more = _integral(constant + pull, linear, square, steps)
    constant, linear, square = slope_in_steps(each, c, c.dissimilarity[i], variance[0, i], B)
    more -= _integral(constant + pull, linear, square, e)
    gain = task.weight * more / (N + mix * rate * (steps - e))
    return np.asarray(gain + costs.sample * steps * batch - costs.sample[i] * e * B), steps, batch


def _integral(a: FloatArray, b: FloatArray, square: FloatArray, e: FloatArray) -> FloatArray:
    """Of a + b e + c e^2 from 0."""
    return np.asarray(e * (a + e * (b / 2.0 + e * square / 3.0)))


def _root(a: FloatArray, b: FloatArray, square: FloatArray) -> FloatArray:
    """Where a + b e + c e^2, b and c >= 0, becomes positive; 0 if it always is, infinite if it never is."""
    inside = np.maximum(b**2 - 4.0 * a * square, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = -2.0 * a / (b + np.sqrt(inside))
    return np.where(a >= 0.0, 0.0, np.where(np.isnan(found), np.inf, found))


class _Closed:
    """Devices that cannot complete a slot because they are under way then (rule S2), are not usable, or have it."""

    def __init__(self, task: TaskProblem, decision: TaskDecision) -> None:
        self.task = task
        slot: IntArray = np.arange(task.slots)
        pairs = [(slot, decision.device)]
        for back in range(1, int((slot - decision.version).max(initial=0)) + 1):
            later = slot[back:]
            clash = decision.version[later] <= later - back  # `later` was under way at slot later - back
            a, b = later[clash], (later - back)[clash]
            pairs += [(a, decision.device[b]), (b, decision.device[a])]
        self.slot, self.device = (np.concatenate(column) for column in zip(*pairs, strict=True))
        self.whole = slot < task.first_free
        if task.fewest_slots:
            counts = np.bincount(decision.device)
            self.whole = self.whole | (counts[decision.device] <= task.fewest_slots)

    def of(self, slots: slice, devices: int) -> NDArray[np.bool_]:
        """Of these slots, (slots, I)."""
        whole = self.whole[slots]
        closed = np.ones((len(whole), devices), dtype=bool)
        closed[:, self.task.usable] = False
        here = (self.slot >= slots.start) & (self.slot < slots.stop)
        closed[self.slot[here] - slots.start, self.device[here]] = True
        closed[whole] = True
        return closed
