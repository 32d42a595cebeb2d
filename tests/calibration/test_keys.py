"""Keys of measurements hold all that decides the outcome, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from dmafl.calibration.keys import NEITHER, NOT_FOR_CONSTANTS, RATES, task_keys, whole_key
from dmafl.scenario.model import Drift, Scenario, Task
from dmafl.scenario.toml import from_plain
from support.small_runs import dataset

PLAIN: dict[str, Any] = {"preset": "phone", "fleet": {"devices": 3}, "tasks": {"mnist": {"slots": 200}}}


def changed(path: str, value: Any) -> Scenario:
    *sections, last = path.split(".")
    given = inner = {key: dict(part) if isinstance(part, dict) else part for key, part in PLAIN.items()}
    for name in sections:
        inner[name] = dict(inner.get(name, {}))
        inner = inner[name]
    inner[last] = value
    return from_plain(given)


def keys(scenario: Scenario, probes: int = 48) -> tuple[str, str, str]:
    keys = task_keys(scenario, [dataset()], {})
    mnist = keys["mnist"]
    return mnist.constants, mnist.probes, whole_key(scenario, keys, probes)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("name", "other"),
        ("channel.kind", "fixed"),
        ("fleet.uplink_power_W", 0.5),
        ("fleet.battery_J", 7.0),
        ("objective.quality_weight_calibrated", 7.0),
        ("theory.gradient_bound", 2.0),
        ("evaluation.every", 3),
        ("tasks.mnist.importance", 7.0),
        ("tasks.mnist.energy_weight", 7.0),
        ("tasks.mnist.bits_per_parameter", 16.0),
        ("tasks.mnist.cycles_per_sample", 1e5),
        ("tasks.mnist.idle_max_s", 7.0),
    ],
)
def test_radio_objective_and_theory_do_not_count(path: str, value: Any) -> None:
    assert keys(changed(path, value)) == keys(from_plain(PLAIN))


@pytest.mark.parametrize(
    ("path", "value", "constants", "probes"),
    [
        ("seed", 1, True, True),
        ("fleet.devices", 4, True, True),
        ("tasks.mnist.samples", 900, True, True),
        ("tasks.mnist.learning_rate", 0.07, True, True),
        ("tasks.mnist.partition", "iid", True, True),
        ("tasks.mnist.drift.kind", "none", True, True),
        ("tasks.mnist.window_s", 7.0, True, False),
        ("tasks.mnist.drift.idle_rate", 7.0, True, False),
        ("tasks.mnist.drift.active_per_s", 7.0, True, False),
        ("tasks.mnist.max_staleness", 7, False, True),
        ("tasks.mnist.mix_decay", 7.0, False, True),
        ("tasks.mnist.slots", 70, False, True),
        ("evaluation.samples", 70, False, True),
    ],
)
def test_what_decides_counts(path: str, value: Any, constants: bool, probes: bool) -> None:
    before, after = keys(from_plain(PLAIN)), keys(changed(path, value))
    assert (before[0] != after[0], before[1] != after[1]) == (constants, probes)
    assert before[2] != after[2]


def test_slots_count_as_far_as_probes_have_them_and_for_the_whole() -> None:
    before, after = keys(from_plain(PLAIN)), keys(changed("tasks.mnist.slots", 300))
    assert before[:2] == after[:2]
    assert before[2] != after[2]
    assert keys(from_plain(PLAIN), 24)[2] != before[2]


def test_data_and_material_of_the_user_count() -> None:
    scenario = from_plain(PLAIN)
    keys = {
        str(task_keys(scenario, [data], own)["mnist"])
        for data, own in ((dataset(), {}), (dataset(seed=1), {}), (dataset(), {"mnist": "another module"}))
    }
    assert len(keys) == 3


def test_the_lists_name_settings_that_there_are() -> None:
    assert set(NOT_FOR_CONSTANTS) <= set(Task.model_fields)
    assert set(NEITHER) < set(NOT_FOR_CONSTANTS)
    assert set(RATES) <= set(Drift.model_fields)
