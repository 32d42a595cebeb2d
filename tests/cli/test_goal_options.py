"""Goals as options of `dmafl plan`."""

from __future__ import annotations

from pathlib import Path

import pytest

import dmafl
from dmafl.base.errors import BadInput
from dmafl.cli.goal_options import by_task, seconds, with_goals
from dmafl.scenario.keys import with_values


@pytest.mark.parametrize(
    ("text", "expected"), [("90", 90.0), ("90s", 90.0), ("1.5min", 90.0), ("2h", 7200.0), ("1 d", 86400.0)]
)
def test_times_have_units(text: str, expected: float) -> None:
    assert seconds("--deadline", text) == expected


@pytest.mark.parametrize("text", ["", "h", "2 weeks", "-1s", "1h30"])
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(BadInput, match="--deadline"):
        seconds("--deadline", text)


def test_a_number_is_for_all_tasks_or_for_one() -> None:
    assert by_task("--accuracy", None) is None
    assert by_task("--accuracy", ["0.85"]) == 0.85
    assert by_task("--accuracy", ["a=0.5", "b=0.6"]) == {"a": 0.5, "b": 0.6}
    for wrong in (["x"], ["a=b"], ["0.5", "0.6"], ["0.5", "a=0.6"], ["a=0.5", "a=0.6"], ["=0.5"]):
        with pytest.raises(BadInput, match="--accuracy"):
            by_task("--accuracy", wrong)


def test_options_take_the_place_of_goals_in_the_file() -> None:
    scenario = with_values(dmafl.preset("demo"), {"goals.accuracy": 0.7, "goals.deadline_s": 60.0})
    assert with_goals(scenario) is scenario
    changed = with_goals(scenario, accuracy=["mnist=0.8"], deadline="2h", confidence=0.5).goals
    assert changed.accuracy is not None and changed.accuracy.plain() == {"mnist": 0.8}
    assert (changed.deadline_s, changed.confidence) == (7200.0, 0.5)
    with pytest.raises(BadInput, match="nobody"):
        with_goals(scenario, accuracy=["nobody=0.8"])


def test_a_plan_for_an_accuracy_says_what_it_reaches(
    command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    dmafl.write_measured(dmafl.measure(dmafl.preset("demo")), tmp_path / "measured.json")
    (tmp_path / "scenario.toml").write_text('preset = "demo"\n[tasks.mnist]\nslots = 60\n')
    given = ("plan", "scenario.toml", "--measured", "measured.json", "--effort", "2")
    told = command(*given, "--accuracy", "mnist=0.7", "--device-energy", "5", "--deadline", "1h")
    assert told.code == 0, told.err
    assert "device_energy_J" in told.out and "Prediction" in told.out
    plan = dmafl.read_plan(tmp_path / "plan.json").plan
    assert plan.predicted["mnist"].accuracy > 0.7
    assert plan.world.scenario.tasks["mnist"].slots < 60
    assert all(check.ok for check in dmafl.verify_plan(tmp_path / "plan.json"))
    told = command(*given, "--accuracy", "mnist=1.0")
    assert told.code == 2
    assert "goals.accuracy of mnist" in told.err
