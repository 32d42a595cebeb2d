"""Rehearsals: the jobs of a plan trained a few times without clock and radio, to see which accuracy they reach."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.base.errors import BadInput
from dmafl.calibration.keys import checksum
from dmafl.calibration.measured import Measured
from dmafl.calibration.measurement_setup import MeasurementSetup
from dmafl.calibration.probes import carry_out
from dmafl.calibration.progress import Streams
from dmafl.scenario.model import Scenario
from dmafl.theory.jobs import TaskJobs
from dmafl.training.components import NOTHING, Components

TIMES = 8
"""How often a schedule is trained: two trainings of one schedule differ by 0.003 to 0.01 in accuracy."""
OWN = "custom"
REHEARSED = "softmax"
"""The model that is rehearsed: a training of a network takes minutes."""
_NUMBER = 4 * 10**8
"""Rehearsals are numbered from here, away from probes and from the jobs of runs, so that their batches differ."""


@dataclass(frozen=True)
class Rehearsals:
    """Trains the jobs of plans with the data of a scenario."""

    setup: MeasurementSetup

    def rehearses(self, task: str) -> bool:
        """Whether the model of a task can be trained in seconds: a linear one, also of the user's own."""
        model = self.setup.scenario.tasks[task].model
        if model != OWN:
            return model == REHEARSED
        number = list(self.setup.scenario.tasks).index(task)
        return self.setup.trainer.tasks[number].model.linear is not None

    def accuracies(self, task: str, jobs: TaskJobs, progress: Streams, counts: IntArray) -> FloatArray:
        """What the jobs reach on the whole test set after these numbers of slots, (trainings, counts)."""
        jobs = jobs.with_(batch=np.minimum(jobs.batch, jobs.samples))
        trainer, number = self.setup.trainer, list(self.setup.scenario.tasks).index(task)
        tested = counts.tolist()
        trained = [
            carry_out(trainer, number, jobs, _NUMBER + k, tested, everything=True, progress=progress)
            for k in range(TIMES)
        ]
        return np.stack([run.accuracies for run in trained])


def rehearsals_for(
    scenario: Scenario,
    measured: Measured,
    components: Components = NOTHING,
    *,
    same_data: bool | None = None,
) -> Rehearsals | None:
    """Rehearsals of a scenario's plans; None where they would not say what a run reaches.

    That is so where no task has a model that is rehearsed, where its data are not there, and where `measured` is of
    other data than those that are found here. `same_data` says what is known of that.
    """
    if not any(task.model in (REHEARSED, OWN) for task in scenario.tasks.values()):
        return None
    if any(task.model == OWN and name not in components.models for name, task in scenario.tasks.items()):
        return None
    setup = MeasurementSetup(scenario, components)
    try:
        if same_data is None:
            same_data = all(measured.of(name).data == checksum(data) for name, data in setup.data.items())
    except BadInput:
        return None
    return Rehearsals(setup) if same_data else None
