import pytest

import dmafl
from dmafl.base.errors import BadInput
from dmafl.scenario.keys import flat, matching, with_values


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
