"""What the planner knows of a scenario: measured constants, and the labels of the devices that will train."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dmafl.calibration.measured import Measured, for_prediction
from dmafl.scenario.model import Scenario
from dmafl.theory.calibrated import Calibration
from dmafl.theory.constants import PER_DEVICE, Constants
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

    For another partition, constants of devices are the measured mean over devices, and dissimilarities follow the
    labels: the mean measured one, spread over devices as that of their labels is.
    """
    estimates = {}
    for name in scenario.tasks:
        task, constants = measured.of(name), measured.constants(scenario, name)
        mix = task.labels
        if labels is not None and labels.get(name) is not None:
            mix = labels[name]
            assert mix is not None
            constants = _for_partition(constants, mix)
        estimates[name] = TaskEstimates(constants, for_prediction(constants, mix), mix, task.calibration)
    return estimates


def _for_partition(constants: Constants, labels: LabelMix) -> Constants:
    even: dict[str, Any] = {
        name: np.full(constants.devices, float(getattr(constants, name).mean())) for name in PER_DEVICE
    }
    shape = for_prediction(constants, labels).gram
    size = float(np.diag(constants.gram).mean()) / max(float(np.diag(shape).mean()), 1e-300)
    delta = np.diag(shape) / max(float(np.diag(shape).mean()), 1e-300) * float(constants.dissimilarity.mean())
    return replace(constants, **(even | {"gram": shape * size, "dissimilarity": delta}))
