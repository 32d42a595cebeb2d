"""What a loss model need not write: replacements, a surrogate and a relaxed form from its values and slopes alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.planning.loss_models.drift_terms import as_early_as_can_be
from dmafl.planning.loss_models.relaxed import RelaxedFrame, RelaxedSchedule
from dmafl.planning.loss_models.slopes import Slopes, TimeSlopes, slope_of_job
from dmafl.planning.loss_models.surrogate import Surrogate, curvature_by_size
from dmafl.theory.jobs import TaskJobs

Value = Callable[[TaskJobs], float]


def values_of_candidates(
    value: Value, jobs: TaskJobs, devices: int, slots: slice = slice(None)
) -> FloatArray:
    """The value if slot g alone is completed by device i with the same work and times, (slots, I)."""
    values = []
    for g in range(len(jobs))[slots]:
        for i in range(devices):
            device = jobs.device.copy()
            device[g] = i
            values.append(value(jobs.with_(device=device)))
    return np.asarray(values).reshape(-1, devices)


def generic_surrogate(
    weight: float, jobs: TaskJobs, slopes: Slopes, times: TimeSlopes, strength: float
) -> Surrogate:
    """A surrogate by slopes: noise in e^2 / q as far as larger batches help, the rest linear with a curvature."""
    e, B = jobs.steps, jobs.batch
    noise = weight * np.maximum(-slopes.batch, 0.0) * B**2 / e
    at_fixed_work = weight * (slopes.steps - slopes.batch * B / e)
    linear = at_fixed_work - 2.0 * noise / B
    curvature = curvature_by_size(linear, e, strength)
    of_ends = np.zeros(len(jobs))
    of_ends[-1] = weight * times.horizon_s
    of_compute = weight * (times.compute_s[jobs.device] + times.under_way_s)
    of_ends, of_compute = as_early_as_can_be(jobs, of_ends, of_compute)
    return Surrogate(linear - curvature * e, curvature, noise, of_compute, of_ends)


@dataclass(frozen=True, eq=False)
class GenericRelaxed:
    """A relaxed form from values of schedules: that of the leading candidates, and what others change slot by slot.

    V(leading) + sum_{g,i,s} x[g,i,s] (V(slot g by device i with staleness s) - V(leading)). It is the mean over shares
    where jobs add up; otherwise it leaves out what changes of several slots do together.
    """

    value: Value
    time_slopes: Callable[[TaskJobs], TimeSlopes]
    frame: RelaxedFrame

    def __call__(self, at: RelaxedSchedule) -> tuple[float, RelaxedSchedule]:
        """See `RelaxedLoss`."""
        G, devices, ages = at.x.shape
        leading = at.x.reshape(G, -1).argmax(axis=1)
        jobs = self._jobs(at, leading // ages, leading % ages)
        value = self.value(jobs)
        gained, of_steps, of_batch = np.zeros_like(at.x), np.zeros_like(at.x), np.zeros_like(at.x)
        for g in range(G):
            for i in range(devices):
                for s in range(min(ages, g + 1)):
                    tried = self._with(jobs, g, i, s)
                    gained[g, i, s] = self.value(tried) - value
                    if at.x[g, i, s] > 0:
                        of_steps[g, i, s] = slope_of_job(self.value, tried, "steps", g)
                        of_batch[g, i, s] = slope_of_job(self.value, tried, "batch", g)
        times = self.time_slopes(jobs)
        end_s = np.zeros(G)
        end_s[-1] = times.horizon_s
        return value + float((at.x * gained).sum()), RelaxedSchedule(
            x=gained,
            steps=(at.x * of_steps).sum(axis=(1, 2)),
            batch=(at.x * of_batch).sum(axis=(1, 2)),
            compute_s=at.x.sum(axis=2) @ times.compute_s + times.under_way_s,
            end_s=end_s,
        )

    def _jobs(self, at: RelaxedSchedule, device: IntArray, stale: IntArray) -> TaskJobs:
        """The jobs if these candidates complete the slots."""
        slot = np.arange(len(device))
        transfer_s = self.frame.transfer_s[slot, device, stale]
        start_s = at.end_s - at.compute_s - transfer_s
        last_s, idle_s = np.zeros(at.x.shape[1]), np.empty(len(slot))
        for g, i in enumerate(device.tolist()):
            idle_s[g], last_s[i] = start_s[g] - last_s[i], at.end_s[g]
        return TaskJobs(
            device=device,
            version=slot - stale,
            steps=at.steps,
            batch=at.batch,
            samples=self.frame.samples,
            mix=self.frame.mix[slot, stale],
            rate=np.full(len(slot), self.frame.rate),
            proximal=self.frame.proximal,
            idle_s=idle_s,
            start_s=start_s,
            download_s=transfer_s,
            compute_s=at.compute_s,
            upload_s=np.zeros(len(slot)),
            end_s=at.end_s,
        )

    def _with(self, jobs: TaskJobs, g: int, i: int, s: int) -> TaskJobs:
        """The same with slot g completed by device i with staleness s, in the same time."""
        device, version, mix = jobs.device.copy(), jobs.version.copy(), jobs.mix.copy()
        device[g], version[g], mix[g] = i, g - s, self.frame.mix[g, s]
        return jobs.with_(device=device, version=version, mix=mix)
