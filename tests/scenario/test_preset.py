import pytest

import dmafl
from dmafl.base.errors import BadInput
from dmafl.scenario.toml import from_plain


def test_a_preset_alone_is_the_ready_made_one() -> None:
    assert dmafl.preset("demo") is dmafl.preset("demo")


def test_tasks_devices_and_settings_take_the_place_of_the_presets() -> None:
    made = dmafl.preset("demo", tasks=["mnist"], devices=20, seed=3, fleet={"battery_J": 500}, name="mine")
    assert (list(made.tasks), made.fleet.devices, made.seed, made.name) == (["mnist"], 20, 3, "mine")
    assert made.fleet.battery_J.low == 500
    assert made.tasks["mnist"] == dmafl.preset("demo").tasks["mnist"]
    same = {"preset": "demo", "name": "mine", "seed": 3, "fleet": {"devices": 20, "battery_J": 500}}
    assert made == from_plain(same | {"tasks": {"mnist": {}}})


def test_tasks_with_settings_may_be_new_ones() -> None:
    made = dmafl.preset("demo", tasks={"mnist": {"slots": 7}, "digits": {"dataset": "mnist"}})
    assert [task.slots for task in made.tasks.values()] == [7, 100]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tasks": ["cifar"]}, "street_digits, mnist, fashion_mnist"),
        ({"devices": 3, "fleet": {"devices": 4}}, "said once"),
        ({"seeds": 3}, "Did you mean `seed`"),
        ({"devices": "many"}, r"fleet\.devices"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        dmafl.preset("demo", **given)


def test_with_changes_dotted_keys_in_a_new_scenario() -> None:
    before = dmafl.preset("demo")
    after = before.with_({"fleet.battery_J": 5, "tasks.*.slots": 4, "seed": 9, "name": "other"})
    assert (after.seed, after.name, before.seed) == (9, "other", 0)
    assert {task.slots for task in after.tasks.values()} == {4}
    with pytest.raises(BadInput, match=r"Did you mean `fleet\.battery_J`"):
        before.with_({"fleet.battery": 5})
    with pytest.raises(BadInput, match="preset"):
        before.with_({"preset": "paper"})


def test_a_scenario_shows_itself_in_a_line() -> None:
    shown = repr(dmafl.preset("demo", name="x" * 200))
    assert len(shown) <= 300 and "10 devices" in shown and "mnist" in shown
    assert "<td>street_digits</td>" in dmafl.preset("demo")._repr_html_()
