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
from dmafl.planning.loss_models.job_batch import JobBatch
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.theory.jobs import TaskJobs


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


JOBS_AT_ONCE = 6000
"""Jobs of all decisions together that are worth looking at in one go; bounds the memory too."""


def how_many(task: TaskProblem) -> int:
    """Choices that are worth evaluating at once."""
    return int(np.clip(JOBS_AT_ONCE // task.slots, 8, 128))


def costs_of(problem: Problem, task: TaskProblem, decisions: Sequence[TaskDecision]) -> BatchedCosts:
    """Cost and lateness of every decision, as `cost_of` and `late_s` have them one by one; infinite without a link."""
    device, version = (
        np.stack([getattr(decision, name) for decision in decisions]) for name in ("device", "version")
    )
    seconds = task.upload_s[device, np.arange(task.slots)] + task.download_s[device, version]
    linked, n = np.flatnonzero(np.isfinite(seconds).all(axis=1)), len(decisions)
    if len(linked) == n:
        return _costs(problem, task, decisions)
    costs = BatchedCosts(
        np.full(n, np.inf), np.full(n, np.inf), np.full(n, np.inf), np.zeros((n, task.slots))
    )
    if len(linked):
        of_linked = _costs(problem, task, [decisions[k] for k in linked.tolist()])
        for name in BatchedCosts.__dataclass_fields__:
            getattr(costs, name)[linked] = getattr(of_linked, name)
    return costs


def _costs(problem: Problem, task: TaskProblem, decisions: Sequence[TaskDecision]) -> BatchedCosts:
    batched = TaskDecision.batch_of(decisions)
    device, steps, batch, frequency = batched.device, batched.steps, batched.batch, batched.frequency_Hz
    n, G = device.shape
    slot = np.arange(G)
    times = times_of(task, batched)
    jobs = _laid_end_to_end(problem, task, device, steps, batch, times)
    loss = task.loss_model.values(
        JobBatch(
            jobs,
            times.end_s.max(axis=1),
            lambda: (jobs_from(problem, task, alone, times_of(task, alone)) for alone in decisions),
        )
    )
    world, number = problem.world, np.full(n * G, task.number)
    flat = device.ravel()
    upload_J = world.upload_J(flat, task.upload_s[device, slot].ravel())
    compute_J = world.compute_J(flat, number, steps.ravel(), batch.ravel(), frequency.ravel())
    device_J = (upload_J + compute_J).reshape(n, G)
    download_J = world.download_J(flat, times.download_s.ravel()).reshape(n, G)
    energy = task.price_of_J * (problem.c2 * device_J + problem.c3 * download_J).sum(axis=1)
    late = (times.end_s - task.window_s[device]).max(axis=1)
    total = task.weight * loss + energy + task.time_cost(times.end_s)
    return BatchedCosts(total, times.end_s[:, -1], late, device_J)


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
