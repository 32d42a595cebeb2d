"""The costs of many decisions of one task, computed together: a few array operations per slot for all of them.

The jobs of all decisions are laid end to end, with versions and times shifted so that no decision sees another. What
the theory says of each job then holds as it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.planning.decision import TaskDecision, Times, jobs_from, since_last, times_of
from dmafl.planning.loss_models.label_slopes import weights_of_slots
from dmafl.planning.loss_models.models import Calibrated, Sharp, Theorem1
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.theory.calibrated import TRAINING_POWER
from dmafl.theory.drift import drift_while_under_way
from dmafl.theory.features import amount, exchange_of_jobs, training_of_jobs
from dmafl.theory.gram_bias import gram_bias_of_slots
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.label_bias import class_scores, loss_by_bias
from dmafl.theory.sharp import terms_of_jobs

JOBS_AT_ONCE = 6000
"""Jobs of all decisions together that are worth looking at in one go; bounds the memory too."""


@dataclass(frozen=True, eq=False)
class BatchedCosts:
    """Of every decision, (n,) if not said otherwise."""

    total: FloatArray
    """The task's part of the objective."""
    end_s: FloatArray
    """When the last slot completes."""
    late_s: FloatArray
    """How much the latest upload misses its window; <= 0 if none does."""
    device_J: FloatArray
    """E^U + E^C of every job, (n, G)."""


def how_many(task: TaskProblem) -> int:
    """Choices that are worth evaluating at once."""
    return int(np.clip(JOBS_AT_ONCE // task.slots, 8, 128))


def costs_of(problem: Problem, task: TaskProblem, decisions: Sequence[TaskDecision]) -> BatchedCosts:
    """Cost and lateness of every decision, as `cost_of` and `late_s` have them one by one; infinite without a link."""
    device, version = (np.stack([getattr(one, name) for one in decisions]) for name in ("device", "version"))
    seconds = task.upload_s[device, np.arange(task.slots)] + task.download_s[device, version]
    linked, n = np.flatnonzero(np.isfinite(seconds).all(axis=1)), len(decisions)
    if len(linked) == n:
        return _costs(problem, task, decisions)
    found = BatchedCosts(
        np.full(n, np.inf), np.full(n, np.inf), np.full(n, np.inf), np.zeros((n, task.slots))
    )
    if len(linked):
        own = _costs(problem, task, [decisions[k] for k in linked.tolist()])
        for name in BatchedCosts.__dataclass_fields__:
            getattr(found, name)[linked] = getattr(own, name)
    return found


def _costs(problem: Problem, task: TaskProblem, decisions: Sequence[TaskDecision]) -> BatchedCosts:
    batched = TaskDecision.batch_of(decisions)
    device, steps, batch, frequency = batched.device, batched.steps, batched.batch, batched.frequency_Hz
    n, G = device.shape
    slot = np.arange(G)
    times = times_of(task, batched)
    jobs = _laid_end_to_end(problem, task, device, steps, batch, times)
    quality = _values(problem, task, decisions, jobs, times)
    world, number = problem.world, np.full(n * G, task.number)
    flat = device.ravel()
    upload_J = world.upload_J(flat, task.upload_s[device, slot].ravel())
    compute_J = world.compute_J(flat, number, steps.ravel(), batch.ravel(), frequency.ravel())
    device_J = (upload_J + compute_J).reshape(n, G)
    download_J = world.download_J(flat, times.download_s.ravel()).reshape(n, G)
    energy = task.price_of_J * (problem.c2 * device_J + problem.c3 * download_J).sum(axis=1)
    late = (times.end_s - task.window_s[device]).max(axis=1)
    return BatchedCosts(task.weight * quality + energy, times.end_s[:, -1], late, device_J)


def _laid_end_to_end(
    problem: Problem, task: TaskProblem, device: IntArray, steps: FloatArray, batch: FloatArray, times: Times
) -> TaskJobs:
    n, G = device.shape
    number = np.full(n * G, task.number)
    apart = np.arange(n)[:, None]
    shift_s = apart * 2.0 * float(times.end_s.max())
    flat = Times(*(getattr(times, name).ravel() for name in Times.__dataclass_fields__))
    idle, computed = since_last((device + problem.devices * apart).ravel(), flat)
    begun = flat.start_s + flat.download_s
    share = problem.world.stream_progress(device.ravel(), number, flat.version, begun, computed)
    samples = problem.world.samples(number, share).astype(np.float64)
    slot = np.tile(np.arange(G), n)
    return TaskJobs(
        device=device.ravel(),
        version=(times.version + G * apart).ravel(),
        steps=steps.ravel(),
        batch=np.minimum(batch.ravel(), samples),
        samples=samples,
        mix=task.mix_weights[slot, slot - flat.version],
        rate=np.full(n * G, task.settings.learning_rate),
        proximal=task.settings.proximal,
        idle_s=idle,
        start_s=(times.start_s + shift_s).ravel(),
        download_s=flat.download_s,
        compute_s=flat.compute_s,
        upload_s=flat.upload_s,
        end_s=(times.end_s + shift_s).ravel(),
    )


def _values(
    problem: Problem, task: TaskProblem, decisions: Sequence[TaskDecision], jobs: TaskJobs, times: Times
) -> FloatArray:
    """The quality of every decision, (n,)."""
    quality, n = task.loss_model, len(decisions)
    if isinstance(quality, Theorem1):
        alone = (jobs_from(problem, task, one, times_of(task, one)) for one in decisions)
        return np.asarray([quality.value(own) for own in alone])
    assert isinstance(quality, Calibrated | Sharp)
    c = quality.constants
    extra = (c.drift_active - c.drift_idle)[jobs.device] * jobs.compute_s
    drift = float(c.drift_idle.sum()) * times.end_s.max(axis=1) + extra.reshape(n, -1).sum(axis=1)
    if isinstance(quality, Calibrated):
        return _calibrated(quality, jobs, drift)
    each = np.sum([*terms_of_jobs(jobs, c).values()], axis=0).reshape(n, -1).sum(axis=1)
    N = (jobs.mix * jobs.rate * jobs.steps).reshape(n, -1).sum(axis=1)
    return np.asarray((2.0 * (c.first_loss - c.lowest_loss) + 2.0 * drift + each) / N)


def _calibrated(quality: Calibrated, jobs: TaskJobs, drift: FloatArray) -> FloatArray:
    weight, n = quality.calibration.weights, len(drift)

    def table(values: FloatArray) -> FloatArray:
        return values.reshape(n, -1)

    device, work = jobs.device.reshape(n, -1), table(jobs.mix * jobs.steps)
    noise = (work * table(1 / jobs.batch - 1 / jobs.samples)).sum(axis=1) / work.sum(axis=1)
    value = weight.constant + weight.noise * noise + weight.drift * drift
    for one, each in ((weight.training, training_of_jobs), (weight.exchange, exchange_of_jobs)):
        value += one * table(each(jobs)).sum(axis=1) ** TRAINING_POWER
    amounts = table(amount(jobs))
    if weight.gram_bias > 0:
        value += weight.gram_bias * gram_bias_of_slots(device, amounts, quality.gram).mean(axis=1)
    value += quality.concentration_terms(device, amounts)
    if quality.labels is not None and weight.label_bias > 0:
        G = device.shape[1]
        version = jobs.version.reshape(n, G) - G * np.arange(n)[:, None]
        time = table(quality.calibration.response * jobs.rate * jobs.steps)
        scores = class_scores(device, version, table(jobs.mix), time, quality.labels.held)
        value += weight.label_bias * loss_by_bias(scores, quality.labels.asked) @ weights_of_slots(G)
    if weight.window > 0:
        value += weight.window * 4.0 * table(drift_while_under_way(jobs, quality.constants)).mean(axis=1)
    return np.asarray(value)
