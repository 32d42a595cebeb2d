"""Probe runs: short trainings under random schedules, whose outcomes calibrate the prediction.

A probe needs no clock and no radio: only which device trains from which version with how much work, slot by slot.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dmafl.base.processes.stopping import Interrupted
from dmafl.calibration.progress import Streams
from dmafl.calibration.random_jobs import WARM_UP_SLOTS, ProbePlan, probe_jobs
from dmafl.learning.aggregation import mix
from dmafl.learning.arrays import Vector
from dmafl.scenario.model import Task
from dmafl.theory.course import Course
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.tested_jobs import TestedJobs
from dmafl.training.trainer import Tested, Trainer, TrainingOrder

LAST = 5
"""Tests at the end of a run whose mean is the loss, or accuracy, that it reached."""
WARM_UP_STEPS = 20
WARM_UP_BATCH = 32
WARM_UP_TESTED_EVERY = 5
_WARM_UP_NUMBER = 10**8
"""Jobs of a warm-up are numbered from here, away from those of probes, so that their batches differ."""


@dataclass(frozen=True, eq=False)
class WarmUp:
    """A model after some training, and its losses during that training."""

    model: Vector
    course: Course


def warm_up_jobs(
    task: Task, devices: int, slots: int = WARM_UP_SLOTS, steps: int = WARM_UP_STEPS
) -> TaskJobs:
    """A round robin without staleness over all devices, with the task's mixing weight, on the data of time 0."""
    return TaskJobs.untimed(
        device=np.arange(slots) % devices,
        version=np.arange(slots),
        steps=np.full(slots, float(steps)),
        batch=np.full(slots, float(min(WARM_UP_BATCH, task.samples_at_start))),
        samples=np.full(slots, float(task.samples_at_start)),
        mix=np.full(slots, task.mixing),
        rate=np.full(slots, task.learning_rate),
        proximal=task.proximal,
    )


def warmed_up(
    trainer: Trainer, task: int, *, slots: int = WARM_UP_SLOTS, steps: int = WARM_UP_STEPS
) -> WarmUp:
    """The first model after a round robin without staleness: on the initial plateau, losses of networks say nothing."""
    settings = trainer.tasks[task].settings
    jobs = warm_up_jobs(settings, trainer.scenario.fleet.devices, slots, steps)
    model = trainer.first_model(task)
    tested, tests = [], []
    for k in range(slots):
        order = TrainingOrder(task, int(jobs.device[k]), _WARM_UP_NUMBER + k, 0.0, steps, int(jobs.batch[k]))
        model = mix(model, trainer.train(order, model), settings.mixing)
        if (k + 1) % WARM_UP_TESTED_EVERY == 0:
            tested.append(k + 1)
            tests.append(trainer.test(task, model, 1.0, False))
    return WarmUp(model, Course(_tested(jobs, tested, tests)))


def run_probes(
    trainer: Trainer,
    task: int,
    numbers: Iterable[int],
    plan: ProbePlan,
    *,
    start: Vector | None = None,
) -> Iterator[TestedJobs]:
    """The probes with these numbers, one after the other; a number stands for the same probe whenever it is run."""
    scenario, settings = trainer.scenario, trainer.tasks[task].settings
    for number in numbers:
        jobs = probe_jobs(settings, scenario.fleet.devices, plan, seed=scenario.seed, number=number)
        yield carry_out(trainer, task, jobs, number, plan.tested, start)


def carry_out(
    trainer: Trainer,
    task: int,
    jobs: TaskJobs,
    number: int,
    tested: Collection[int],
    start: Vector | None = None,
    stop: Callable[[], bool] = lambda: False,
    *,
    everything: bool = False,
    progress: Streams | None = None,
) -> TestedJobs:
    """Train under `jobs` from the first model, or from `start`, and test after each number of slots in `tested`.

    `stop` is called before every slot; if it is true, the probe ends with `Interrupted`. Tests are on the fixed subset,
    or on `everything`. Without `progress` streams go evenly from their start to their end.
    """
    models = {0: trainer.first_model(task) if start is None else start}
    slots = len(jobs)
    progress = Streams.even(slots) if progress is None else progress
    last_use = {int(version): k for k, version in enumerate(jobs.version)}
    tests = []
    for k in range(slots):
        if stop():
            raise Interrupted
        order = TrainingOrder(
            task,
            int(jobs.device[k]),
            number * slots + k,
            float(progress.of_jobs[k]),
            int(jobs.steps[k]),
            int(jobs.batch[k]),
        )
        local = trainer.train(order, models[int(jobs.version[k])])
        models[k + 1] = mix(models[k], local, float(jobs.mix[k]))
        for version in [v for v in models if v <= k and last_use.get(v, -1) <= k]:
            del models[version]
        if k + 1 in tested:
            tests.append(trainer.test(task, models[k + 1], float(progress.of_tests[k]), everything))
    return _tested(jobs, sorted(tested), tests)


def reached(run: TestedJobs) -> tuple[float, float]:
    """The loss and accuracy that a run reached: means of its last tests."""
    return float(run.losses[-LAST:].mean()), float(run.accuracies[-LAST:].mean())


def _tested(jobs: TaskJobs, slots: Sequence[int], tests: Sequence[Tested]) -> TestedJobs:
    return TestedJobs.of(jobs, slots, [test.loss for test in tests], [test.accuracy for test in tests])
