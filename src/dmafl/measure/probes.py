"""Probe runs: short trainings under random schedules, whose outcomes calibrate the prediction.

A probe needs no clock and no radio: only who trains from which version with how much work, slot after slot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from dmafl.learning.aggregation import mix, mix_weight
from dmafl.learning.arrays import Vector
from dmafl.randomness import generator
from dmafl.scenario.model import Task
from dmafl.simulation.laboratory import Laboratory, TrainingOrder
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.mixing import staleness_factor

LAST = 5
"""Evaluations at the end of a probe whose mean loss is its outcome."""
EVERY = 3
"""Slots between them."""
SMALLEST_BATCH = 8
PROBE_STEPS = (1, 40)
MIXING = (0.25, 0.9)
WARM_UP_SLOTS = 60
WARM_UP_STEPS = 20
WARM_UP_BATCH = 32
_WARM_UP_NUMBER = 10**8
"""Jobs of a warm-up are numbered from here, away from those of probes, so that their batches differ."""


@dataclass(frozen=True, eq=False)
class Probe:
    """A random schedule and the loss it reached."""

    jobs: TaskJobs
    loss: float
    accuracy: float


def random_jobs(
    task: Task, devices: int, slots: int, *, seed: int, number: int, largest_steps: int = PROBE_STEPS[1]
) -> TaskJobs:
    """A random schedule: few or many devices in turn or at random, steps and batches by probe, device or job, any
    staleness up to the task's, any mixing weight."""
    rng = generator(seed, "probe", number)
    members = rng.permutation(devices)[: rng.integers(1, devices + 1)]
    in_turn = rng.random() < 0.5
    order = np.resize(members, slots) if in_turn else rng.choice(members, slots)
    steps = _by_probe_device_or_job(rng, devices, order, 1, largest_steps)
    top = max(SMALLEST_BATCH, min(64, task.samples_at_start))
    batch = _by_probe_device_or_job(rng, devices, order, SMALLEST_BATCH, top)
    alpha = rng.uniform(*MIXING)
    most_stale = int(rng.integers(0, task.max_staleness + 1))
    version, last_slot = np.zeros(slots, dtype=np.int64), np.full(devices, -1)
    for k, i in enumerate(order):
        version[k] = max(k - int(rng.integers(0, most_stale + 1)), last_slot[i] + 1, 0)
        last_slot[i] = k
    stale = np.arange(slots) - version
    decay = task.mix_decay or None
    start = task.samples_at_start
    share = np.arange(slots) / max(1, slots - 1)
    grows = task.drift.kind == "growth"
    samples = np.floor(start + (task.samples - start) * share) if grows else np.full(slots, float(start))
    nothing = np.zeros(slots)
    return TaskJobs(
        device=order,
        version=version,
        steps=steps,
        batch=np.minimum(batch, samples),
        samples=samples,
        mix=mix_weight(alpha, staleness_factor(task), stale, np.arange(slots), decay),
        rate=np.full(slots, task.learning_rate),
        proximal=task.proximal,
        idle_s=nothing,
        start_s=nothing,
        download_s=nothing,
        compute_s=nothing,
        upload_s=nothing,
        end_s=nothing,
    )


def warmed_up(
    laboratory: Laboratory, task: int, *, slots: int = WARM_UP_SLOTS, steps: int = WARM_UP_STEPS
) -> Vector:
    """The first model after a fresh round robin over all devices: networks on their initial plateau tell nothing."""
    settings = laboratory.tasks[task].settings
    batch = min(WARM_UP_BATCH, settings.samples_at_start)
    model = laboratory.first_model(task)
    for k in range(slots):
        device = k % laboratory.scenario.fleet.devices
        order = TrainingOrder(task, device, _WARM_UP_NUMBER + k, 0.0, steps, batch)
        model = mix(model, laboratory.train(order, model), settings.mixing)
    return model


def run_probes(
    laboratory: Laboratory,
    task: int,
    numbers: Iterable[int],
    *,
    slots: int,
    largest_steps: int = PROBE_STEPS[1],
    start: Vector | None = None,
) -> Iterator[Probe]:
    """The probes with these numbers, one after the other; a number stands for the same probe whenever it is run."""
    scenario, settings = laboratory.scenario, laboratory.tasks[task].settings
    for number in numbers:
        jobs = random_jobs(
            settings,
            scenario.fleet.devices,
            slots,
            seed=scenario.seed,
            number=number,
            largest_steps=largest_steps,
        )
        yield carry_out(laboratory, task, jobs, number, start)


def carry_out(
    laboratory: Laboratory, task: int, jobs: TaskJobs, number: int, start: Vector | None = None
) -> Probe:
    """Train under `jobs` from the first model, or from `start`, and see which loss is reached."""
    models = {0: laboratory.first_model(task) if start is None else start}
    slots = len(jobs)
    last_use = {int(version): k for k, version in enumerate(jobs.version)}
    tested = {slots - EVERY * k for k in range(LAST)}
    outcomes = []
    for k in range(slots):
        order = TrainingOrder(
            task,
            int(jobs.device[k]),
            number * slots + k,
            k / max(1, slots - 1),
            int(jobs.steps[k]),
            int(jobs.batch[k]),
        )
        local = laboratory.train(order, models[int(jobs.version[k])])
        models[k + 1] = mix(models[k], local, float(jobs.mix[k]))
        for version in [v for v in models if v <= k and last_use.get(v, -1) <= k]:
            del models[version]
        if k + 1 in tested:
            outcomes.append(laboratory.test(task, models[k + 1], 1.0, False))
    return Probe(
        jobs,
        float(np.mean([one.loss for one in outcomes])),
        float(np.mean([one.accuracy for one in outcomes])),
    )


def _by_probe_device_or_job(
    rng: np.random.Generator,
    devices: int,
    order: np.ndarray[tuple[int], np.dtype[np.int64]],
    low: int,
    high: int,
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Whole numbers, log-uniform on [low, high]: one for the probe, one a device or one a job."""
    kind = rng.integers(3)
    count = 1 if kind == 0 else devices if kind == 1 else len(order)
    drawn = np.floor(low * ((high + 1) / low) ** rng.random(count))
    values = np.clip(drawn, low, high)
    return np.asarray(np.full(len(order), values[0]) if kind == 0 else values[order] if kind == 1 else values)
