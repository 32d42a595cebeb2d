"""Random schedules for probe runs: what is varied, and over which ranges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.base.randomness import generator
from dmafl.learning.aggregation import mix_weight
from dmafl.scenario.model import Scenario, Task
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.mixing import staleness_factor

SMALLEST_BATCH = 8
LARGEST_BATCH = 64
PROBE_STEPS = (1, 40)
MIXING = (0.25, 0.9)
PROBE_SLOTS = 150
"""Aggregations of a probe of a linear model, unless the task has fewer."""
DEEP_SLOTS, DEEP_STEPS = 100, 20
"""Aggregations of a probe of any other model, and most steps of its jobs: such steps are costly."""
PROBES, DEEP_PROBES = 48, 24
"""Probes of a task with a linear model, and with any other: each is tested many times, so that few tell enough."""
TESTED_EVERY, DEEP_TESTED_EVERY = 3, 10
"""Slots between two tests of a probe."""
WARM_UP_SLOTS = 60
DESIGN = 3
"""Version of the design: raised when the same number means another schedule than before, or other tests."""


@dataclass(frozen=True)
class ProbePlan:
    """How many probes a task has, how long they are, and how often they are tested."""

    slots: int
    largest_steps: int
    warm_up_slots: int
    """Aggregations before the probes, from the first model; 0: probes begin with the first model."""
    tested_every: int = TESTED_EVERY
    probes: int = PROBES
    """How many, where nothing else is asked for."""

    @property
    def tested(self) -> list[int]:
        """Numbers of slots after which a probe is tested: to its end, from about a tenth of it on."""
        first = max(1, self.slots // 10)
        return [
            k for k in range(1, self.slots + 1) if (self.slots - k) % self.tested_every == 0 and k >= first
        ]


def probe_plan(task: Task) -> ProbePlan:
    """Linear models are probed from the first model; others from a warmed-up one, which costs less and says more."""
    if task.model == "softmax":
        return ProbePlan(min(task.slots, PROBE_SLOTS), most_steps(task), 0)
    steps = max(DEEP_STEPS, task.steps_min)
    return ProbePlan(DEEP_SLOTS, steps, WARM_UP_SLOTS, DEEP_TESTED_EVERY, DEEP_PROBES)


def probe_counts(scenario: Scenario, probes: int | None) -> dict[str, int]:
    """Probes of every task by name: this number of each, or for None the usual ones."""
    return {
        name: probe_plan(task).probes if probes is None else probes for name, task in scenario.tasks.items()
    }


def probe_jobs(task: Task, devices: int, plan: ProbePlan, *, seed: int, number: int) -> TaskJobs:
    """The schedule of the probe with this number."""
    return random_jobs(task, devices, plan.slots, seed=seed, number=number, largest_steps=plan.largest_steps)


def most_steps(task: Task) -> int:
    """Most steps of a job in a probe: what the task allows, and not less than usual."""
    return max(PROBE_STEPS[1], task.steps_max)


def random_jobs(
    task: Task, devices: int, slots: int, *, seed: int, number: int, largest_steps: int | None = None
) -> TaskJobs:
    """The schedule of a probe. Those with even numbers are arbitrary, those with odd numbers regular, as plans are.

    Ranges are wide, and wider where those of the task are: probes must be close to whatever a plan may do. But bad
    schedules say little about good ones, so ranges are not wider still.
    """
    rng = generator(seed, "probe", number)
    largest = most_steps(task) if largest_steps is None else largest_steps
    drawn = (
        _orderly(rng, task, devices, slots, largest)
        if number % 2
        else _any(rng, task, devices, slots, largest)
    )
    version, last_slot = np.zeros(slots, dtype=np.int64), np.full(devices, -1)
    for k, i in enumerate(drawn.order):
        version[k] = max(k - drawn.staleness[k], last_slot[i] + 1, 0)
        last_slot[i] = k
    stale = np.arange(slots) - version
    start = task.samples_at_start
    share = np.arange(slots) / max(1, slots - 1)
    grows = task.drift.kind == "growth"
    samples = np.floor(start + (task.samples - start) * share) if grows else np.full(slots, float(start))
    return TaskJobs.untimed(
        device=drawn.order,
        version=version,
        steps=drawn.steps,
        batch=np.minimum(drawn.batch, samples),
        samples=samples,
        mix=mix_weight(drawn.mixing, staleness_factor(task), stale, np.arange(slots), task.mix_decay or None),
        rate=np.full(slots, task.learning_rate),
        proximal=task.proximal,
    )


@dataclass(frozen=True, eq=False)
class _Drawn:
    """What is drawn for a probe, one value per slot."""

    order: IntArray
    staleness: IntArray
    """As drawn; a device that completed a later slot than that gets a fresher version."""
    steps: FloatArray
    batch: FloatArray
    mixing: float


def _any(rng: np.random.Generator, task: Task, devices: int, slots: int, largest: int) -> _Drawn:
    """Few or many devices in turn or at random, steps and batches by probe, device or job, any staleness up to the
    task's, any mixing weight.
    """
    members = rng.permutation(devices)[: rng.integers(1, devices + 1)]
    in_turn = rng.random() < 0.5
    order = np.resize(members, slots) if in_turn else rng.choice(members, slots)
    steps = _by_probe_device_or_job(rng, devices, order, PROBE_STEPS[0], largest)
    batch = _by_probe_device_or_job(rng, devices, order, *_batches(task))
    mixing = rng.uniform(min(MIXING[0], task.mixing), max(MIXING[1], task.mixing))
    staleness = rng.integers(0, int(rng.integers(0, task.max_staleness + 1)) + 1, slots)
    return _Drawn(order, staleness, steps, batch, float(mixing))


def _orderly(rng: np.random.Generator, task: Task, devices: int, slots: int, largest: int) -> _Drawn:
    """At least half of the devices in turn; one number of steps, batch and staleness; the task's mixing weight."""
    members = rng.permutation(devices)[: rng.integers((devices + 1) // 2, devices + 1)]
    most = max(task.steps_min, min(task.steps_max, largest))
    high = min(_batches(task)[1], task.batch_max)
    return _Drawn(
        order=np.resize(members, slots),
        staleness=np.full(slots, rng.integers(0, task.max_staleness + 1)),
        steps=np.full(slots, _log_uniform(rng, task.steps_min, most)),
        batch=np.full(slots, _log_uniform(rng, min(task.batch_min, high), high)),
        mixing=task.mixing,
    )


def _batches(task: Task) -> tuple[int, int]:
    """Smallest and largest batch: the usual ones, and those of the task."""
    low = min(SMALLEST_BATCH, task.batch_min)
    usual = min(LARGEST_BATCH, task.samples_at_start)
    return low, max(SMALLEST_BATCH, usual, min(task.batch_max, task.samples))


def _by_probe_device_or_job(
    rng: np.random.Generator, devices: int, order: IntArray, low: int, high: int
) -> FloatArray:
    """One number for the probe, one per device or one per job."""
    kind = rng.integers(3)
    values = _log_uniform(rng, low, high, 1 if kind == 0 else devices if kind == 1 else len(order))
    return np.asarray(np.full(len(order), values[0]) if kind == 0 else values[order] if kind == 1 else values)


def _log_uniform(rng: np.random.Generator, low: int, high: int, count: int = 1) -> FloatArray:
    """Whole numbers on [low, high]."""
    return np.asarray(np.clip(np.floor(low * ((high + 1) / low) ** rng.random(count)), low, high))
