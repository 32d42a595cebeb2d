"""A measurement for devices that were not measured."""

from __future__ import annotations

import numpy as np
import pytest

from dmafl.calibration.carried_over import DRIFTS, carried_over, constants_for
from dmafl.calibration.measured import Measured
from dmafl.planning.task_estimates import estimates_from
from dmafl.theory.label_mix import LabelMix
from support.sizings import shipped, small


def labels(devices: int) -> LabelMix:
    rng = np.random.default_rng(devices)
    return LabelMix(rng.dirichlet(np.full(10, 0.5), size=devices), np.full(10, 0.1))


@pytest.mark.parametrize("devices", [1, 5, 10, 50])
def test_constants_of_another_number_of_devices(devices: int) -> None:
    before = shipped().of("mnist").constants
    after = constants_for(before, labels(devices))
    assert after.devices == devices
    assert after.sample_variance == pytest.approx(np.full(devices, before.sample_variance.mean()))
    for name in DRIFTS:  # they have the factor 1/I in them
        assert getattr(after, name).sum() == pytest.approx(getattr(before, name).sum())
    if devices > 1:
        assert after.dissimilarity.mean() == pytest.approx(before.dissimilarity.mean())
        assert np.diag(after.gram).mean() == pytest.approx(np.diag(before.gram).mean())
    assert after.smoothness == before.smoothness


def test_a_whole_measurement_is_one_again_and_can_be_planned_with() -> None:
    before = shipped()
    after = carried_over(before, {"mnist": labels(25)})
    assert after.key != before.key
    assert after.key == carried_over(before, {"mnist": labels(25)}).key
    again = Measured.from_plain(after.plain())
    scenario = small(devices=25)
    known = estimates_from(scenario, again)["mnist"]
    assert known.constants.devices == 25
    assert known.labels is not None and np.array_equal(known.labels.held, labels(25).held)
    assert known.calibration is not None
    assert known.calibration.weights == before.of("mnist").calibration.weights
