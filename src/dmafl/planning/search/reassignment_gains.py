"""What other devices would do in every slot at given prices, and what the priced objective would gain by it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.planning.decision import GivenWork, TaskDecision
from dmafl.planning.effort import UNLIMITED, Effort
from dmafl.planning.problem import TaskProblem
from dmafl.planning.search.prices import UnitCosts
from dmafl.theory.jobs import TaskJobs


@dataclass(frozen=True, eq=False)
class ReassignmentGains:
    """The best offer for every slot alone, (G,) each."""

    gain: FloatArray
    """What the priced objective gains: negative is better; infinite where no other device is allowed."""
    device: IntArray
    steps: FloatArray
    batch: FloatArray


AT_ONCE = 1_000_000
"""Pairs of slot and device that are looked at together: bounds the memory."""


def reassignment_gains(
    task: TaskProblem,
    decision: TaskDecision,
    jobs: TaskJobs,
    costs: UnitCosts,
    drawn: GivenWork | None = None,
    effort: Effort = UNLIMITED,
) -> ReassignmentGains:
    """The best other device of each slot; with the work that is best for it where that has a closed form."""
    closed = _Closed(task, decision)
    some = max(1, AT_ONCE // len(costs.sample))
    parts = []
    for first in range(0, task.slots, some):
        effort.look()
        slots = slice(first, first + some)
        gain, steps, batch = _of_slots(task, decision, jobs, costs, drawn, slots)
        gain = np.where(closed.of(slots, gain.shape[1]), np.inf, gain)
        best = gain.argmin(axis=1)[:, None]
        of_best = [np.take_along_axis(values, best, axis=1)[:, 0] for values in (gain, steps, batch)]
        parts.append((of_best[0], best[:, 0], of_best[1], of_best[2]))
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
    radio, now = costs.transfers(task, decision.version, slots), decision.device[slots, None]
    if drawn is None:
        best = task.loss_model.best_replacements(task.frame, jobs, costs.sample, slots)
        if best is not None:
            return best.gain + radio - np.take_along_axis(radio, now, axis=1), best.steps, best.batch
        given = decision.steps[slots, None], decision.batch[slots, None]
    else:
        given = drawn.steps[None, :], drawn.batch[None, :]
    steps, batch = (np.broadcast_to(column, radio.shape) for column in given)
    cost = radio + costs.sample * (steps * batch)
    loss = task.loss_model.replacements(jobs, cost / max(task.weight, 1e-150), slots)
    return cost - np.take_along_axis(cost, now, axis=1) + task.weight * loss, steps, batch


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
