"""How tests on the whole test set differ from those on the fixed subset that probes are tested on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dmafl.calibration.probes import carry_out, warm_up_jobs
from dmafl.calibration.random_jobs import WARM_UP_SLOTS
from dmafl.theory.tested_jobs import TestedJobs
from dmafl.training.trainer import Trainer

TESTED = range(20, WARM_UP_SLOTS + 1, 5)
"""Numbers of slots after which both are compared."""
_NUMBER = 3 * 10**8
"""Number of the run that is tested, away from those of probes."""
LEAST_LOSS = 1e-6


class Difference(NamedTuple):
    """What the whole test set adds to loss and accuracy."""

    loss: float = 0.0
    accuracy: float = 0.0

    def added_to(self, run: TestedJobs) -> TestedJobs:
        """A run with its tests as they would be on the whole test set."""
        return TestedJobs(
            run.jobs,
            run.slots,
            np.maximum(run.losses + self.loss, LEAST_LOSS),
            np.clip(run.accuracies + self.accuracy, 0.0, 1.0),
        )


def difference_to_whole(trainer: Trainer, task: int) -> Difference:
    """Mean difference over the models of a short round robin; none where the subset is the whole.

    A plan ends with a test on everything. The subset is the same for all probes, so that what it is easier or harder
    by, up to 0.01 of the accuracy, would be an error of every prediction. Networks are left out: their tests are dear.
    """
    of_task = trainer.tasks[task]
    if of_task.settings.model != "softmax" or len(of_task.subset) == len(of_task.test_inputs):
        return Difference()
    jobs = warm_up_jobs(of_task.settings, trainer.scenario.fleet.devices)
    part, whole = (
        carry_out(trainer, task, jobs, _NUMBER, TESTED, everything=everything) for everything in (False, True)
    )
    return Difference(
        float((whole.losses - part.losses).mean()), float((whole.accuracies - part.accuracies).mean())
    )
