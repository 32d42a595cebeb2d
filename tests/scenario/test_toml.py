"""Scenarios as TOML: exact round trips, presets below, tasks as listed."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmafl.base.errors import BadInput
from dmafl.scenario.draws import Draw
from dmafl.scenario.fields import rows
from dmafl.scenario.model import Drift, Fleet, Mobility, Scenario, Task, Theory
from dmafl.scenario.preset import preset
from dmafl.scenario.presets import NAMES
from dmafl.scenario.toml import dumps, from_plain, load, save

positive = st.floats(1e-3, 90.0)
draws = st.one_of(
    positive.map(lambda x: Draw("constant", (x,))),
    st.tuples(positive, positive).map(lambda p: Draw("uniform", (min(p), max(p)))),
    st.tuples(positive, positive).map(lambda p: Draw("log_uniform", (min(p), max(p)))),
    st.lists(positive, min_size=1, max_size=4).map(lambda v: Draw("choice", tuple(v))),
)
tasks = st.builds(
    Task,
    window_s=draws,
    cycles_per_sample=st.none() | draws,
    mixing=st.floats(1e-6, 1.0),
    learning_rate=st.floats(1e-12, 10.0),
    mix_decay=st.just(0.0) | st.floats(1e-3, 1e6),
    drift=st.builds(Drift, idle_per_s=st.none() | st.floats(1e-12, 1e3), per_aggregation=st.booleans()),
)
scenarios = st.builds(
    Scenario,
    name=st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=20),
    preset=st.sampled_from(NAMES),
    seed=st.integers(0, 2**63 - 1),
    fleet=st.builds(Fleet, uplink_power_W=draws, battery_J=draws, devices=st.integers(1, 1000)),
    theory=st.builds(Theory, gradient_bound=st.none() | positive),
    mobility=st.builds(Mobility, speed_m_s=positive),
    tasks=st.dictionaries(st.sampled_from(["mnist", "svhn", "own-task", "x_1"]), tasks, min_size=1),
)


@given(scenarios)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_round_trip_is_exact(scenario: Scenario) -> None:
    text = dumps(scenario)
    again = from_plain(_without_unset(tomllib.loads(text)))
    assert again == scenario
    assert dumps(again) == text
    assert from_plain(scenario.plain()) == scenario


@pytest.mark.parametrize("name", NAMES)
def test_presets_round_trip_through_a_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / "scenario.toml"
    save(preset(name), path)
    assert load(path) == preset(name)


def test_values_left_out_come_from_the_preset() -> None:
    scenario = from_plain({"preset": "paper", "fleet": {"devices": 3}})
    assert scenario.fleet.devices == 3
    assert scenario.fleet.capacitance_Js2 == preset("paper").fleet.capacitance_Js2
    assert list(scenario.tasks) == ["svhn", "mnist", "fashion_mnist"]


def test_a_file_that_names_tasks_has_no_others() -> None:
    scenario = from_plain({"preset": "paper", "tasks": {"mnist": {"slots": 7}}})
    assert list(scenario.tasks) == ["mnist"]
    assert scenario.tasks["mnist"].slots == 7
    assert scenario.tasks["mnist"].bits_per_parameter == 4096


def test_a_draw_replaces_a_draw_whole() -> None:
    scenario = from_plain({"preset": "paper", "fleet": {"capacitance_Js2": {"choice": [1e-20]}}})
    assert scenario.fleet.capacitance_Js2 == Draw("choice", (1e-20,))


def test_unset_switches_a_preset_value_off(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text('preset = "paper"\n[theory]\ngradient_bound = "unset"\n')
    assert load(path).theory.gradient_bound is None
    assert load(path).theory.weak_convexity == 1.0


def test_every_field_has_a_description_and_units_match_names() -> None:
    units = {
        "_W": "W",
        "_Hz": "Hz",
        "_J": "J",
        "_s": "s",
        "_m": "m",
        "_dB": "dB",
        "_Js2": "J·s²",
        "_m_s": "m/s",
    }
    for section in (Fleet, Task, Drift, Theory, Mobility):
        for row in rows("", section):
            assert row.doc.endswith("."), row.name
            suffix = max((end for end in units if row.name.endswith(end)), key=len, default=None)
            if suffix and not row.name.endswith("per_s"):
                assert row.unit == units[suffix], row.name


def test_scenarios_are_frozen() -> None:
    scenario = preset("phone")
    with pytest.raises(ValueError, match="frozen"):
        scenario.seed = 3  # type: ignore[misc]
    with pytest.raises(TypeError, match="read-only"):
        scenario.tasks["mnist"] = Task()
    with pytest.raises(BadInput):
        preset("nokia")


def _without_unset(given: object) -> object:
    if isinstance(given, dict):
        return {key: _without_unset(value) for key, value in given.items()}
    return None if given == "unset" else given
