"""What the planner knows of a scenario: measured constants, and the labels of the devices that will train."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dmafl.calibration.carried_over import constants_for
from dmafl.calibration.measured import Measured, for_prediction
from dmafl.scenario.model import Scenario
from dmafl.theory.calibrated import Calibration
from dmafl.theory.constants import Constants
from dmafl.theory.label_mix import LabelMix


@dataclass(frozen=True, eq=False)
class TaskEstimates:
    """What is known of one task: constants of the bounds, and of the prediction."""

    constants: Constants
    prediction: Constants | None = None
    """Constants that the prediction was fitted with; left out: the same."""
    labels: LabelMix | None = None
    calibration: Calibration | None = None


def estimates_from(
    scenario: Scenario, measured: Measured, labels: Mapping[str, LabelMix | None] | None = None
) -> dict[str, TaskEstimates]:
    """By task; `labels` are those of another partition than the one measured, e.g. of another seed.

    For another partition constants are carried over (`constants_for`); for another number of devices all that is
    measured must be carried over first (`carried_over`).
    """
    estimates = {}
    for name in scenario.tasks:
        task, constants = measured.of(name), measured.constants(scenario, name)
        mix = task.labels
        if labels is not None and labels.get(name) is not None:
            mix = labels[name]
            assert mix is not None
            constants = constants_for(constants, mix)
        estimates[name] = TaskEstimates(constants, for_prediction(constants, mix), mix, task.calibration)
    return estimates
