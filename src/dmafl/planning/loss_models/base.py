"""`LossModel`: all that a solver asks of a loss model, with a default for everything but the terms.

A loss model says what a schedule of one task is worth; smaller is better. Whoever adds one writes one file with a
subclass and one line in `registry`. `terms` and `devices` are enough: the defaults get everything else from values
alone (`generic`), which is right for any model, and slow. A model that is to plan large fleets overrides what is slow.

Solver by solver: `search` uses `value`, `values`, `slopes`, `noise_weights`, `time_slopes`, `replacements`; `resources`
uses `surrogate` and `smooth_value`; `sca` uses `relaxed`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.planning.loss_models.generic import GenericRelaxed, generic_surrogate, values_of_candidates
from dmafl.planning.loss_models.job_batch import JobBatch
from dmafl.planning.loss_models.job_costs import JobCosts
from dmafl.planning.loss_models.label_slopes import Labelled
from dmafl.planning.loss_models.relaxed import RelaxedFrame, RelaxedLoss
from dmafl.planning.loss_models.slopes import Slopes, TimeSlopes, slopes_by_differences
from dmafl.planning.loss_models.surrogate import ExpansionPoint, Surrogate
from dmafl.planning.loss_models.task_frame import TaskFrame
from dmafl.theory.gram_bias import Factors
from dmafl.theory.jobs import TaskJobs


class BestReplacements(NamedTuple):
    """What the cost of a task gains if a device completes a slot with the work that is best for it, (slots, I) each."""

    gain: FloatArray
    """Of loss and samples together."""
    steps: FloatArray
    batch: FloatArray


class LossModel(ABC):
    """What a schedule of one task is worth; smaller is better."""

    name: ClassVar[str]
    """As users and files have it."""
    smooth: ClassVar[bool] = True
    """Whether the value has derivatives in steps, batches and times everywhere."""
    judges_slots_apart: ClassVar[bool] = True
    """Whether what a device does in a slot hardly depends on who completes the others: then `replacements` guide the
    first order of devices, and one such order is enough."""
    considers_stale: ClassVar[bool] = True
    """Whether the solver `sca` looks at jobs that receive an old version."""

    # -- value ----------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def devices(self) -> int:
        """I: number of devices."""

    @abstractmethod
    def terms(self, jobs: TaskJobs) -> dict[str, float]:
        """The terms by name; they add up to the value."""

    def value(self, jobs: TaskJobs) -> float:
        """The loss."""
        return sum(self.terms(jobs).values())

    def values(self, batch: JobBatch) -> FloatArray:
        """The losses of many schedules, (n,)."""
        return np.asarray([self.value(jobs) for jobs in batch.one_by_one()])

    def lower_bound(self, task: TaskFrame, costs: JobCosts) -> float | None:
        """What loss and energy of no schedule go below, in units of the objective; None: nothing is proved."""
        return None

    # -- search ---------------------------------------------------------------------------------------

    def slopes(self, jobs: TaskJobs) -> Slopes:
        """Derivatives with respect to work."""
        return slopes_by_differences(self.value, jobs)

    def noise_weights(self, jobs: TaskJobs) -> FloatArray:
        """What e (1/B - 1/D) of each job adds to the value, (G,), which gives the best batch in closed form.

        The default holds for models in which the batch enters in this way alone.
        """
        of_batch = self.slopes(jobs).batch
        return np.asarray(np.maximum(-of_batch, 0.0) * jobs.batch**2 / jobs.steps)

    def time_slopes(self, jobs: TaskJobs) -> TimeSlopes:
        """Derivatives with respect to times; by default times do not count."""
        return TimeSlopes(np.zeros(self.devices), np.zeros(len(jobs)), 0.0)

    def replacements(
        self, jobs: TaskJobs, cost: FloatArray | None = None, slots: slice = slice(None)
    ) -> FloatArray:
        """What the value gains if slot g alone is completed by device i with the same work and times, (slots, I).

        In large fleets a model may look only at devices with a small `cost` (in units of loss); others get infinity.
        """
        return values_of_candidates(self.value, jobs, self.devices, slots) - self.value(jobs)

    def best_replacements(
        self, task: TaskFrame, jobs: TaskJobs, sample_cost: FloatArray, slots: slice
    ) -> BestReplacements | None:
        """The same with the best work of every device, where that has a closed form; None where it has none.

        `sample_cost`: cost of computing one sample by device, (I,).
        """
        return None

    def slow_slopes(self, jobs: TaskJobs) -> FloatArray:
        """Slopes, in each job's steps, of what `without_slow_part` leaves out, (G,)."""
        return np.zeros(len(jobs))

    def without_slow_part(self) -> LossModel:
        """The model without what is so slow to compute that the search for the best work takes it as linear."""
        return self

    def start_balance(self, *, gram_alone: bool) -> Factors | None:
        """What one-sided shares p of devices cost, p' Gamma p, as a guide for the first order; None if nothing.

        `gram_alone`: only by the dissimilarity of the devices.
        """
        return None

    # -- resources of a fixed schedule ------------------------------------------------------------------

    @property
    def late_end_helps(self) -> bool:
        """Whether the loss falls by itself, so that a late end is worth something."""
        return False

    def labelled(self, jobs: TaskJobs) -> Labelled | None:
        """The jobs with their labels, where class scores count: those of all tasks are followed together."""
        return None

    def smooth_value(self, jobs: TaskJobs, scores: FloatArray | None) -> float:
        """The value without what has kinks in the times; `scores`: of the classes after every slot, (G, C)."""
        return self.value(jobs)

    def overlap_pull(self, weight: float, jobs: TaskJobs) -> FloatArray:
        """Slopes, with respect to each T^C, of `weight` times what `smooth_value` leaves out, (G,)."""
        return np.zeros(len(jobs))

    def surrogate(self, weight: float, at: ExpansionPoint) -> Surrogate:
        """A convex function that touches `weight` times the loss at the point."""
        jobs = at.jobs
        return generic_surrogate(weight, jobs, self.slopes(jobs), self.time_slopes(jobs), at.strength)

    # -- relaxed schedules ------------------------------------------------------------------------------

    def relaxed(self, frame: RelaxedFrame) -> RelaxedLoss:
        """The model for schedules that are not decided yet."""
        return GenericRelaxed(self.value, self.time_slopes, frame)
