"""The measurement that comes with the package is that of the preset `demo`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dmafl
from dmafl.calibration import measure as measuring
from dmafl.calibration.dissimilarity import label_mix
from dmafl.calibration.keys import whole_key
from dmafl.calibration.measured import Measured
from dmafl.calibration.measurement_setup import MeasurementSetup
from dmafl.calibration.random_jobs import probe_counts
from dmafl.calibration.shipped import shipped, shipped_file
from dmafl.theory.calibrated import TRUSTED

MAX_BYTES = 400_000
"""Most of it are the samples of the proxy models of two tasks."""
REMEDY = (
    "the preset demo, the embedded data or what is measured has changed: "
    "run python tools/make_shipped_measurement.py"
)


@pytest.fixture
def setup(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> MeasurementSetup:
    monkeypatch.delenv("DMAFL_DATA_DIR", raising=False)
    monkeypatch.setenv("DMAFL_CACHE_DIR", str(tmp_path))
    return MeasurementSetup(dmafl.preset("demo"))


def test_the_preset_demo_returns_at_once(setup: MeasurementSetup, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object) -> Measured:
        raise AssertionError(REMEDY)

    monkeypatch.setattr(measuring, "measure_parts", refuse)
    measured = dmafl.measure(setup.scenario)
    assert measured.key == whole_key(setup.scenario, setup.keys, None)
    assert list(measured.tasks) == list(setup.scenario.tasks)


def test_it_is_small_and_can_be_trusted(setup: MeasurementSetup) -> None:
    assert len(shipped_file().read_bytes()) < MAX_BYTES
    measured = shipped(whole_key(setup.scenario, setup.keys, None))
    assert measured is not None, REMEDY
    for name, task in measured.tasks.items():
        assert task.calibration is not None, name
        assert task.calibration.correlation > TRUSTED, name
        assert task.calibration.accuracy is not None, name
        assert task.cost.probes == probe_counts(setup.scenario, None)[name]
        assert measured.constants(setup.scenario, name).devices == setup.scenario.fleet.devices


def test_its_labels_are_those_of_the_preset(setup: MeasurementSetup) -> None:
    """A change of how data are dealt does not change the key, but would make the file wrong."""
    measured = dmafl.measure(setup.scenario)
    for number, name in enumerate(setup.scenario.tasks):
        labels = label_mix(setup.trainer, number)
        np.testing.assert_allclose(measured.tasks[name].labels.held, labels.held, err_msg=REMEDY)


def test_weights_of_the_objective_do_not_matter(setup: MeasurementSetup) -> None:
    scenario = setup.scenario
    objective = scenario.objective.model_copy(update={"quality_weight_calibrated": 7.0})
    tasks = {name: task.model_copy(update={"importance": 3.0}) for name, task in scenario.tasks.items()}
    other = scenario.model_copy(update={"objective": objective, "tasks": tasks})
    assert whole_key(other, MeasurementSetup(other).keys, None) == whole_key(scenario, setup.keys, None)


def test_another_scenario_has_no_shipped_measurement(setup: MeasurementSetup) -> None:
    assert shipped("0" * 64) is None
