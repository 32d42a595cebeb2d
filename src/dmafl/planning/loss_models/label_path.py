"""Label bias along a whole run, and what changes of single jobs do to it.

The prediction looks at the end of a run, where the loss reached is measured. A planner that did so would be free to
train on anything before: it takes a mean over all slots instead, in which late ones count more, so that the model is
good all along.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.planning.loss_models.label_slopes import Labelled, label_slopes, weights_of_slots
from dmafl.theory.label_bias import class_scores, loss_by_bias
from dmafl.theory.label_flow import flow

FORGOTTEN = 0.005
"""What is left of a class score when later slots no longer feel it."""
MOST_SLOTS = 40
ROWS_AT_ONCE = 8192
"""Variants followed at once: bounds the memory."""


@dataclass(frozen=True, eq=False)
class LabelPath:
    """Class scores before and after every slot of a schedule, and the loss by label bias after each."""

    task: Labelled
    scores: FloatArray
    """(G + 1, C); row g is what version g has."""
    losses: FloatArray
    """(G,)."""

    @classmethod
    def of(cls, task: Labelled) -> LabelPath:
        """Follow the class scores through all slots."""
        jobs, labels = task.jobs, task.labels
        after = class_scores(jobs.device, jobs.version, jobs.mix, task.time, labels.held)
        scores = np.concatenate([np.zeros((1, after.shape[1])), after])
        return cls(task, scores, loss_by_bias(after, labels.asked))

    @property
    def mean(self) -> float:
        """Weighted mean over all slots."""
        return float(self.losses @ weights_of_slots(len(self.losses)))

    def slopes(self) -> FloatArray:
        """Derivative of the mean with respect to each job's steps, (G,)."""
        return label_slopes(self.task, self.scores[1:])

    def replacements(self, slots: IntArray, candidates: IntArray) -> FloatArray:
        """What the mean gains if slots[r] alone is completed by candidates[r, k], the shape of `candidates`."""
        slot = np.repeat(slots, candidates.shape[1])
        return self._changes(slot, candidates.ravel(), self.task.jobs.steps[slot]).reshape(candidates.shape)

    def _changes(self, slot: IntArray, device: IntArray, steps: FloatArray) -> FloatArray:
        """What the mean gains if slot[r] alone has device[r] and steps[r], for every row r."""
        out = np.empty(len(slot))
        for first in range(0, len(slot), ROWS_AT_ONCE):
            part = slice(first, first + ROWS_AT_ONCE)
            out[part] = self._followed(slot[part], device[part], steps[part])
        return out

    def _followed(self, slot: IntArray, device: IntArray, steps: FloatArray) -> FloatArray:
        jobs, held = self.task.jobs, self.task.labels.held
        G = len(jobs)
        rows = np.arange(len(slot))
        reach = self._reach()
        # What each row's versions slot, slot + 1, ... have; those before are as they were.
        changed = np.empty((len(slot), reach + 1, self.scores.shape[1]))
        changed[:, 0] = self.scores[slot]
        gained, weights = np.zeros(len(slot)), weights_of_slots(G)
        for k in range(reach):
            g = slot + k
            live = g < G
            g = np.minimum(g, G - 1)
            who = device if k == 0 else jobs.device[g]
            e = steps if k == 0 else jobs.steps[g]
            back = jobs.version[g] - slot
            received = np.where(
                (back >= 0)[:, None], changed[rows, np.maximum(back, 0)], self.scores[jobs.version[g]]
            )
            local = flow(received, held[who], self.task.response * jobs.rate[g] * e)
            changed[:, k + 1] = changed[:, k] + jobs.mix[g, None] * (local - changed[:, k])
            now = loss_by_bias(changed[:, k + 1], self.task.labels.asked)
            gained += np.where(live, weights[g] * (now - self.losses[g]), 0.0)
        return gained

    def _reach(self) -> int:
        """How many slots feel a change."""
        kept = 1.0 - min(float(np.median(self.task.jobs.mix)), 0.99)
        return int(min(np.ceil(np.log(FORGOTTEN) / np.log(kept)) + 1, MOST_SLOTS, len(self.task.jobs)))
