"""Goals of a scenario: what may go together, names of tasks, files with and without them."""

from __future__ import annotations

import tomllib
from typing import Any

import numpy as np
import pytest

from dmafl.base.errors import BadInput
from dmafl.scenario.keys import with_values
from dmafl.scenario.preset import preset
from dmafl.scenario.presets import NAMES
from dmafl.scenario.toml import dumps, from_plain
from dmafl.world.world import World


@pytest.mark.parametrize("name", NAMES)
def test_scenarios_without_goals_are_written_as_before_there_were_any(name: str) -> None:
    scenario = preset(name)
    assert not scenario.goals.given
    assert "goals" not in scenario.recorded()
    assert "goals" not in World.resolve(scenario).plain()["settings"]
    assert "goals" not in scenario.model_dump(mode="python", exclude_defaults=True)
    assert "goals" in from_plain({"preset": name, "goals": {"accuracy": 0.8}}).recorded()


def test_a_number_is_for_all_tasks_and_a_table_for_those_named() -> None:
    every = from_plain({"goals": {"accuracy": 0.85}}).goals.accuracy
    some = from_plain({"goals": {"accuracy": {"mnist": 0.85}, "loss": {"svhn": 1.5}}}).goals
    assert every is not None and every.of("mnist") == every.of("svhn") == 0.85
    assert some.accuracy is not None and some.accuracy.of("mnist") == 0.85
    assert some.accuracy.of("svhn") is None
    assert some.loss is not None and some.loss.of("svhn") == 1.5


@pytest.mark.parametrize(
    "goals",
    [
        {"accuracy": 0.85},
        {"accuracy": {"mnist": 0.85}, "loss": {"svhn": 1.5}, "device_energy_J": 5.0, "confidence": 0.9},
        {"make_best": "accuracy", "fleet_energy_J": 5.0, "station_energy_J": 50.0},
        {"make_best": "time", "loss": 0.5, "deadline_s": 7200.0},
        {
            "accuracy": {"mnist": 0.85},
            "decided": {
                "slots": {"svhn": 10, "mnist": 20, "fashion_mnist": 30},
                "loss_price_J": {"mnist": 3.5},
                "end_s": 12.5,
            },
        },
    ],
)
def test_goals_round_trip_through_a_file(goals: dict[str, Any]) -> None:
    scenario = from_plain({"goals": goals})
    text = dumps(scenario)
    again = from_plain(tomllib.loads(text))
    assert again == scenario
    assert dumps(again) == text
    assert from_plain(scenario.plain()) == scenario


@pytest.mark.parametrize(
    ("goals", "named"),
    [
        ({"accuracy": 1.5}, "goals.accuracy"),
        ({"accuracy": {"mnist": -0.1}}, "goals.accuracy"),
        ({"accuracy": {"minst": 0.8}}, "'minst'"),
        ({"accuracy": {}}, "goals.accuracy"),
        ({"accuracy": "85%"}, "goals.accuracy"),
        ({"accuracy": 0.8, "loss": 0.5}, "goals.loss"),
        ({"accuracy": 0.8, "loss": {"mnist": 0.5}}, "both for mnist"),
        ({"make_best": "accuracy"}, "goals.make_best"),
        ({"make_best": "accuracy", "accuracy": 0.8}, "goals.make_best"),
        ({"make_best": "speed", "accuracy": 0.8}, "goals.make_best"),
        ({"deadline_s": 10.0}, "goals.deadline_s"),
        ({"make_best": "time", "device_energy_J": 5.0}, "goals.device_energy_J"),
        ({"accuracy": 0.8, "device_energy_J": 0.0}, "goals.device_energy_J"),
        ({"accuracy": 0.8, "confidence": 1.0}, "goals.confidence"),
        ({"energy_J": 1.0}, "goals.energy_J"),
    ],
)
def test_contradictions_are_refused_by_name(goals: dict[str, Any], named: str) -> None:
    with pytest.raises(BadInput, match=named.replace(".", r"\.")):
        from_plain({"goals": goals})


def test_keys_set_goals() -> None:
    asked = with_values(preset("demo"), {"goals.accuracy": 0.9, "goals.deadline_s": 60.0})
    assert asked.goals.accuracy is not None and asked.goals.accuracy.of("mnist") == 0.9
    assert asked.goals.deadline_s == 60.0
    per_task = with_values(asked, {"goals.accuracy": {"mnist": 0.7}})
    assert with_values(per_task, {"goals.accuracy.mnist": 0.75}).plain()["goals"]["accuracy"] == {
        "mnist": 0.75
    }


def test_a_limit_per_device_is_a_smaller_battery() -> None:
    scenario = preset("phone")
    battery = World.resolve(scenario).devices.battery_J
    limit = float(np.median(battery)) * 0.5
    limited = with_values(scenario, {"goals.accuracy": 0.5, "goals.device_energy_J": limit})
    assert (World.resolve(limited).devices.battery_J == np.minimum(battery, limit)).all()
    generous = with_values(limited, {"goals.device_energy_J": 1e9})
    assert (World.resolve(generous).devices.battery_J == battery).all()


def test_what_was_asked_is_known_after_a_decision() -> None:
    asked = with_values(preset("demo"), {"goals.accuracy": 0.9})
    decided = {"slots": {name: task.slots for name, task in asked.tasks.items()}, "loss_price_J": 2.0}
    plan = with_values(asked, {"tasks.*.slots": 7, "goals.decided": decided})
    assert plan != asked
    assert plan.as_asked == asked
    assert asked.as_asked is asked
