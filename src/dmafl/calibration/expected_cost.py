"""What the probes of a task will cost: a job and a test are timed, and the design says the rest."""

from __future__ import annotations

import time
from collections.abc import Iterable

from dmafl.calibration.probes import WARM_UP_BATCH, WARM_UP_STEPS, WARM_UP_TESTED_EVERY
from dmafl.calibration.random_jobs import ProbePlan, probe_jobs
from dmafl.training.trainer import Trainer, TrainingOrder

STEPS = 4
"""Steps of the job that is timed."""
_NUMBER = 2 * 10**8
"""Its number, away from those of probes."""


def expected_cost_s(trainer: Trainer, task: int, plan: ProbePlan, numbers: Iterable[int]) -> float:
    """CPU time that these probes of a task will take, and the warm-up before them [s]; on this machine, now."""
    scenario, settings = trainer.scenario, trainer.tasks[task].settings
    model = trainer.first_model(task)
    batch = min(WARM_UP_BATCH, settings.samples_at_start)
    order = TrainingOrder(task, 0, _NUMBER, 0.0, STEPS, batch)
    trainer.train(order, model)  # libraries are loaded and memory is there from now on
    begun = time.process_time()
    trainer.train(order, model)
    per_sample = (time.process_time() - begun) / (STEPS * batch)
    begun = time.process_time()
    trainer.test(task, model, 1.0, False)
    per_test = time.process_time() - begun
    samples = float(plan.warm_up_slots * WARM_UP_STEPS * batch)
    tests = plan.warm_up_slots // WARM_UP_TESTED_EVERY
    for number in numbers:
        jobs = probe_jobs(settings, scenario.fleet.devices, plan, seed=scenario.seed, number=number)
        samples += float((jobs.steps * jobs.batch).sum())
        tests += len(plan.tested)
    return per_sample * samples + per_test * tests
