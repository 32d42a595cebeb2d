import pytest

import dmafl
from dmafl.base.errors import BadInput
from dmafl.scenario.keys import flat, matching, with_values
from dmafl.scenario.model import ADDED, ADDED_SECTIONS
from dmafl.scenario.presets import NAMES
from dmafl.scenario.toml import from_plain


def test_flat_keeps_draws_whole():
    assert flat({"a": {"b": 1, "c": {"uniform": [1, 2]}}, "d": None}) == {
        "a.b": 1,
        "a.c": {"uniform": [1, 2]},
        "d": None,
    }


def test_values_are_set_and_checked():
    scenario = dmafl.preset("demo")
    changed = with_values(scenario, {"tasks.mnist.importance": 7, "fleet.battery_J": {"uniform": [5.0, 6.0]}})
    assert changed.tasks["mnist"].importance == 7
    assert (changed.fleet.battery_J.low, changed.fleet.battery_J.high) == (5.0, 6.0)
    before, after = flat(scenario.plain()), flat(changed.plain())
    assert {key for key in before if before[key] != after[key]} == {
        "tasks.mnist.importance",
        "fleet.battery_J",
    }
    with pytest.raises(BadInput, match=r"tasks\.mnist\.slots.*whole number.*--set"):
        with_values(scenario, {"tasks.mnist.slots": 2.5})


def test_a_star_is_every_task():
    scenario = dmafl.preset("demo")
    assert matching(scenario, "tasks.*.drift.kind") == [f"tasks.{name}.drift.kind" for name in scenario.tasks]
    changed = with_values(scenario, {"tasks.*.window_s": 77.0})
    assert {task.window_s.low for task in changed.tasks.values()} == {77.0}


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("tasks.mnst.importance", "`tasks.mnist.importance`"),
        ("objective.quality_weight_calibrate", "`objective.quality_weight_calibrated`"),
        ("tasks.*.importence", r"`tasks.\*.importance`"),
        ("window_s", "window_s`"),
        ("fleet", "Name a key of it"),
        ("tasks.mnist", "a whole section"),
        ("qqqqqq", "See `dmafl init`"),
        ("seed", "Use seeds"),
        ("preset", "dmafl init"),
    ],
)
def test_wrong_keys_get_the_nearest_right_one(key, said):
    with pytest.raises(BadInput, match=said):
        matching(dmafl.preset("demo"), key)


def test_an_added_setting_with_its_default_is_not_recorded():
    """So that files and checksums from before it was there stay true; what was recorded without it reads the same."""
    usual = dmafl.preset("demo")
    assert {key: flat(usual.plain())[key] for key in ADDED} == {"objective.time_price_W": 0.0}
    for key in ADDED:
        assert key in flat(usual.plain()) and key not in flat(usual.recorded())
    assert from_plain(usual.recorded()) == usual
    assert all(flat(dmafl.preset(name).recorded()).keys().isdisjoint(ADDED) for name in NAMES)
    other = with_values(usual, {"objective.time_price_W": 0.25})
    plain = other.plain()
    assert other.recorded() == {key: value for key, value in plain.items() if key not in ADDED_SECTIONS}
    assert from_plain(other.recorded()) == other
    clipping = with_values(usual, {"server.clip_norm": 2.0})
    assert clipping.recorded()["server"] == {"max_update_norm": None, "clip_norm": 2.0}
    assert from_plain(clipping.recorded()) == clipping


@pytest.mark.parametrize("price_W", [-1.0, 1e-13, 1e13])
def test_a_price_of_time_is_0_or_a_power_that_matters(price_W):
    with pytest.raises(BadInput, match=r"objective\.time_price_W"):
        with_values(dmafl.preset("demo"), {"objective.time_price_W": price_W})
