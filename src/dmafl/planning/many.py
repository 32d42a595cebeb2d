"""What many choices of one task cost, computed at once: a few array operations a slot for all of them.

The jobs of all choices are laid end to end, versions and times shifted so that no choice sees another: what the theory
says of each job then holds as it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dmafl.physics.computation import compute_s
from dmafl.planning.choice import Choice, Times, jobs_from, since_last, times_of
from dmafl.planning.label_slopes import weights_of_slots
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.planning.quality import Calibrated, Printed, Sharp
from dmafl.randomness import FloatArray
from dmafl.theory.calibrated import TRAINING_POWER
from dmafl.theory.drift import drift_while_under_way
from dmafl.theory.features import amount, class_scores, exchange_of_jobs, loss_by_bias, training_of_jobs
from dmafl.theory.gram_bias import gram_bias_of_slots
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.sharp import terms_of_jobs
from dmafl.world.mobility import IntArray

JOBS_AT_ONCE = 6000
"""Jobs of all choices together that are worth looking at in one go; bounds the memory too."""


@dataclass(frozen=True, eq=False)
class ManyCosts:
    """Of every choice, (n,) if not said otherwise."""

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


def costs_of(problem: Problem, task: TaskProblem, choices: Sequence[Choice]) -> ManyCosts:
    """Cost and lateness of every choice, as `cost_of` and `late_s` have them one by one; infinite without a link."""
    device, version = (np.stack([getattr(one, name) for one in choices]) for name in ("device", "version"))
    seconds = task.upload_s[device, np.arange(task.slots)] + task.download_s[device, version]
    linked, n = np.flatnonzero(np.isfinite(seconds).all(axis=1)), len(choices)
    if len(linked) == n:
        return _costs(problem, task, choices)
    found = ManyCosts(np.full(n, np.inf), np.full(n, np.inf), np.full(n, np.inf), np.zeros((n, task.slots)))
    if len(linked):
        own = _costs(problem, task, [choices[k] for k in linked.tolist()])
        for name in ManyCosts.__dataclass_fields__:
            getattr(found, name)[linked] = getattr(own, name)
    return found


def _costs(problem: Problem, task: TaskProblem, choices: Sequence[Choice]) -> ManyCosts:
    device, version = (np.stack([getattr(one, name) for one in choices]) for name in ("device", "version"))
    steps, batch, frequency = (
        np.stack([getattr(one, name) for one in choices]) for name in ("steps", "batch", "frequency_Hz")
    )
    n, G = device.shape
    slot = np.arange(G)
    times = _times(task, device, version, steps, batch, frequency)
    jobs = _laid_end_to_end(problem, task, device, steps, batch, times)
    quality = _values(problem, task, choices, jobs, times)
    world, number = problem.world, np.full(n * G, task.number)
    flat = device.ravel()
    upload_J = world.upload_J(flat, task.upload_s[device, slot].ravel())
    compute_J = world.compute_J(flat, number, steps.ravel(), batch.ravel(), frequency.ravel())
    device_J = (upload_J + compute_J).reshape(n, G)
    download_J = world.download_J(flat, times.download_s.ravel()).reshape(n, G)
    energy = task.price_of_J * (problem.c2 * device_J + problem.c3 * download_J).sum(axis=1)
    late = (times.end_s - task.window_s[device]).max(axis=1)
    return ManyCosts(task.weight * quality + energy, times.end_s[:, -1], late, device_J)


def _times(
    task: TaskProblem,
    device: IntArray,
    version: IntArray,
    steps: FloatArray,
    batch: FloatArray,
    frequency: FloatArray,
) -> Times:
    """`times_of` for many choices, (n, G) each."""
    n, G = device.shape
    rows, slot = np.arange(n), np.arange(G)
    compute = np.asarray(compute_s(task.cycles[device], steps, batch, frequency))
    upload = task.upload_s[device, slot]
    if (version == slot).all() and task.past is None:
        download = task.download_s[device, slot]
        end = np.cumsum(download + compute + upload, axis=1)
        start = np.concatenate([np.zeros((n, 1)), end[:, :-1]], axis=1)
        return Times(version, start, download, compute, upload, end)
    busy, received = compute + upload, version.copy()
    tau, start, download = np.zeros((n, G + 1)), np.zeros((n, G)), np.zeros((n, G))
    now_s, first = 0.0, task.first_free
    if task.past is not None:
        now_s = task.past.now_s
        tau[:, 1 : first + 1], start[:, :first] = task.past.end_s, task.past.start_s
        download[:, :first] = task.download_s[device[:, :first], version[:, :first]]
    for g in range(first, G):
        i, v = device[:, g], received[:, g]
        while True:
            down = task.download_s[i, v]
            length = down + busy[:, g]
            end_s = np.maximum(tau[:, g], np.maximum(tau[rows, v], now_s) + length)
            replaced = (v < g) & (end_s - length > tau[rows, np.minimum(v + 1, g)])
            if not replaced.any():
                break
            v = v + replaced
        received[:, g], start[:, g], download[:, g], tau[:, g + 1] = v, end_s - length, down, end_s
    return Times(received, start, download, compute, upload, tau[:, 1:])


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
    share = problem.world.stream_share(device.ravel(), number, flat.version, begun, computed)
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
    problem: Problem, task: TaskProblem, choices: Sequence[Choice], jobs: TaskJobs, times: Times
) -> FloatArray:
    """The quality of every choice, (n,)."""
    quality, n = task.quality, len(choices)
    if isinstance(quality, Printed):
        alone = (jobs_from(problem, task, one, times_of(task, one)) for one in choices)
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
