"""Data for trying out are those that the simulator deals."""

from __future__ import annotations

import numpy as np
import pytest

from dmafl.base.errors import BadInput
from dmafl.deployment.dealt import samples
from dmafl.scenario.preset import preset
from dmafl.scenario.toml import save
from dmafl.training.components import NOTHING
from dmafl.training.trainer import Trainer


def test_a_device_gets_what_the_simulator_deals_to_it(tmp_path, monkeypatch):
    monkeypatch.setenv("DMAFL_DATA_DIR", "")
    scenario = preset("demo")
    save(scenario, tmp_path / "scenario.toml")
    trainer = Trainer(scenario, NOTHING)
    for place, task in enumerate(scenario.tasks):
        x, y = samples(task, {"scenario": str(tmp_path / "scenario.toml"), "device": 3})
        of_trainer = trainer.tasks[place]
        rows = of_trainer.dealt[3]
        assert np.array_equal(x, of_trainer.data.x_train[rows])
        assert np.array_equal(y, of_trainer.data.y_train[rows])


@pytest.mark.parametrize(
    ("task", "config", "says"),
    [
        ("mnist", {"device": 0}, "scenario"),
        ("mnist", {"device": 99}, "device"),
        ("other", {"device": 0}, "task"),
    ],
)
def test_settings_that_cannot_be_are_named(tmp_path, task, config, says):
    save(preset("demo"), tmp_path / "scenario.toml")
    more = {} if says == "scenario" else {"scenario": str(tmp_path / "scenario.toml")}
    with pytest.raises(BadInput, match=says):
        samples(task, {**config, **more})
