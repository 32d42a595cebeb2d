"""Random schedules for probe runs: what is varied, and over which ranges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dmafl.learning.aggregation import mix_weight
from dmafl.randomness import generator
from dmafl.scenario.model import Task
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.mixing import staleness_factor

SMALLEST_BATCH = 8
LARGEST_BATCH = 64
PROBE_STEPS = (1, 40)
MIXING = (0.25, 0.9)
PROBE_SLOTS = 150
"""Aggregations of a probe of a linear model, unless the task has fewer."""
DEEP_SLOTS, DEEP_STEPS = 60, 20
"""Aggregations of a probe of any other model, and most steps of its jobs: such steps are costly."""
WARM_UP_SLOTS = 60


@dataclass(frozen=True)
class ProbePlan:
    """How long the probes of a task are."""

    slots: int
    largest_steps: int
    warm_up_slots: int
    """Aggregations before them, from the first model; 0: probes begin with it."""


def probe_plan(task: Task) -> ProbePlan:
    """Linear models are probed from the first model; others are cheaper and tell more from a warmed-up one."""
    if task.model == "softmax":
        return ProbePlan(min(task.slots, PROBE_SLOTS), most_steps(task), 0)
    return ProbePlan(DEEP_SLOTS, max(DEEP_STEPS, task.steps_min), WARM_UP_SLOTS)


def most_steps(task: Task) -> int:
    """Most steps of a job in a probe: what the task allows, and not less than usual."""
    return max(PROBE_STEPS[1], task.steps_max)


def random_jobs(
    task: Task, devices: int, slots: int, *, seed: int, number: int, largest_steps: int | None = None
) -> TaskJobs:
    """A random schedule: few or many devices in turn or at random, steps and batches by probe, device or job, any
    staleness up to the task's, any mixing weight.

    Ranges are wide, and wider where the task's own are: probes must come near whatever a plan may do.
    """
    rng = generator(seed, "probe", number)
    members = rng.permutation(devices)[: rng.integers(1, devices + 1)]
    in_turn = rng.random() < 0.5
    order = np.resize(members, slots) if in_turn else rng.choice(members, slots)
    largest = most_steps(task) if largest_steps is None else largest_steps
    steps = _by_probe_device_or_job(rng, devices, order, PROBE_STEPS[0], largest)
    batch = _by_probe_device_or_job(rng, devices, order, *_batches(task))
    alpha = rng.uniform(min(MIXING[0], task.mixing), max(MIXING[1], task.mixing))
    most_stale = int(rng.integers(0, task.max_staleness + 1))
    version, last_slot = np.zeros(slots, dtype=np.int64), np.full(devices, -1)
    for k, i in enumerate(order):
        version[k] = max(k - int(rng.integers(0, most_stale + 1)), last_slot[i] + 1, 0)
        last_slot[i] = k
    stale = np.arange(slots) - version
    start = task.samples_at_start
    share = np.arange(slots) / max(1, slots - 1)
    grows = task.drift.kind == "growth"
    samples = np.floor(start + (task.samples - start) * share) if grows else np.full(slots, float(start))
    return TaskJobs.untimed(
        device=order,
        version=version,
        steps=steps,
        batch=np.minimum(batch, samples),
        samples=samples,
        mix=mix_weight(alpha, staleness_factor(task), stale, np.arange(slots), task.mix_decay or None),
        rate=np.full(slots, task.learning_rate),
        proximal=task.proximal,
    )


def _batches(task: Task) -> tuple[int, int]:
    """Smallest and largest batch: the usual ones, and those of the task."""
    low = min(SMALLEST_BATCH, task.batch_min)
    usual = min(LARGEST_BATCH, task.samples_at_start)
    return low, max(SMALLEST_BATCH, usual, min(task.batch_max, task.samples))


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
