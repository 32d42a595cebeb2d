"""Real training steps of one task, repeated and timed, with the clock and the meter read beside them."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import numpy as np

from dmafl.base.watching import Watcher
from dmafl.machine.energy_meter import EnergyMeter
from dmafl.machine.profiled import Spread, TaskProfile
from dmafl.machine.system_files import NoReading
from dmafl.training.trainer import TaskTrainer, TrainingOrder

DEVICE = 0
"""Whose data are trained on: those of one device as well as of another."""
FEWEST_REPEATS, MOST_REPEATS = 3, 1000
READINGS = 20
"""Of the processor's clock."""


def profile_task(
    trainer: TaskTrainer,
    name: str,
    seconds: float,
    meter: EnergyMeter,
    clock: Callable[[], float] | None,
    watcher: Watcher,
) -> tuple[TaskProfile, float | None]:
    """The task's profile, and the median of what `clock` gave [Hz]; takes about `seconds`, and three repeats at least.

    A repeat trains like one job: from the first model, as many steps as the time allows, at most those of a job.
    """
    settings = trainer.settings
    batch = (settings.batch_min + settings.batch_max) // 2
    batch = min(batch, len(trainer.local_inputs(DEVICE, 1.0)))

    def train(number: int, steps: int) -> tuple[float, float]:
        order = TrainingOrder(trainer.number, DEVICE, number, 1.0, steps, batch)
        wall_s, cpu_s = time.perf_counter(), time.process_time()
        trainer.train(order, trainer.first)
        return time.perf_counter() - wall_s, time.process_time() - cpu_s

    train(0, 1)  # the first step also fills caches
    share_s = seconds / FEWEST_REPEATS
    one_s = max(train(1, 1)[0], 1e-9)
    steps = int(np.clip(share_s / one_s, 1, settings.steps_max))
    repeat_s = max(train(2, steps)[0], 1e-9)
    planned = int(np.clip(seconds / repeat_s, FEWEST_REPEATS, MOST_REPEATS))
    watcher.total(name, planned, 0)
    walls_s: list[float] = []
    cpus_s: list[float] = []
    clocks_Hz: list[float] = []
    before_J, ends_s = meter.joules(), time.perf_counter() + seconds
    for repeat in range(planned):
        wall_s, cpu_s = train(3 + repeat, steps)
        walls_s.append(wall_s)
        cpus_s.append(cpu_s)
        if clock is not None and repeat % -(-planned // READINGS) == 0:
            with suppress(NoReading):
                clocks_Hz.append(clock())
        watcher.ended(name, str(repeat))
        if repeat + 1 >= FEWEST_REPEATS and time.perf_counter() > ends_s:
            break
    after_J = meter.joules()
    frequency_Hz = float(np.median(clocks_Hz)) if clocks_Hz else None
    cpu_step_s = float(np.median(cpus_s)) / steps
    spent_J = None if before_J is None or after_J is None else after_J - before_J
    profile = TaskProfile(
        name,
        settings.model,
        trainer.model.size,
        batch,
        steps,
        len(walls_s),
        Spread.of([wall_s / steps for wall_s in walls_s]),
        min(1.0, sum(cpus_s) / sum(walls_s)),
        None if frequency_Hz is None else cpu_step_s / batch * frequency_Hz,
        spent_J / (steps * len(walls_s))
        if spent_J
        else None,  # a meter that did not move has measured nothing
    )
    return profile, frequency_Hz
