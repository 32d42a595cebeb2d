"""A measurement carried over to other devices than those that were measured: another partition, or another fleet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dmafl.base.files import canonical_json, sha256_of
from dmafl.calibration.estimate import Estimate
from dmafl.calibration.gram import gram_of_labels
from dmafl.calibration.measured import Measured, MeasuredTask
from dmafl.theory.constants import PER_DEVICE, Constants
from dmafl.theory.label_mix import LabelMix

DRIFTS = tuple(name for name in PER_DEVICE if name.startswith("drift_"))
"""Constants with Definition 2's factor 1/I in them."""


def constants_for(constants: Constants, labels: LabelMix) -> Constants:
    """The constants of devices that hold `labels`, any number of them.

    Those of devices are the measured mean over devices, and dissimilarities follow the labels: the mean measured one,
    spread over devices as that of their labels is. Drifts have the factor 1/I of the new fleet.
    """
    devices = len(labels.held)
    fewer = constants.devices / devices
    even: dict[str, Any] = {
        name: np.full(devices, float(getattr(constants, name).mean()) * (fewer if name in DRIFTS else 1.0))
        for name in PER_DEVICE
    }
    shape = gram_of_labels(labels.held)
    mean = max(float(np.diag(shape).mean()), 1e-300)
    gram = shape * (float(constants.gram_diagonal.mean()) / mean)
    delta = np.diag(shape) / mean * float(constants.dissimilarity.mean())
    return replace(constants, **(even | {"gram": gram, "dissimilarity": delta, "factors": None}))


def carried_over(measured: Measured, labels: Mapping[str, LabelMix]) -> Measured:
    """The measurement for the devices of another fleet, by the labels that they hold of each task.

    The prediction is that of the fleet that was measured, since it asks devices for nothing but their labels.
    """
    tasks = {name: _task(measured.of(name), mix) for name, mix in labels.items()}
    content = [measured.key, {name: mix.held.tolist() for name, mix in labels.items()}]
    return Measured(sha256_of(canonical_json(content)), tasks)


def _task(measured: MeasuredTask, labels: LabelMix) -> MeasuredTask:
    constants = constants_for(measured.constants, labels)
    estimates = dict(measured.estimates)
    for name in (*PER_DEVICE, "gram"):
        value, before = getattr(constants, name), estimates[name]
        method = f"{before.method}; carried over to other devices"
        estimates[name] = Estimate(value, value, value, before.samples, method)
    return replace(measured, estimates=estimates, labels=labels)
