"""`dmafl deploy run` and `simulate` without Flower: what they print, and what they refuse."""

from __future__ import annotations

import pytest

from dmafl.scenario.preset import preset
from dmafl.scenario.toml import from_plain, save


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(preset("demo"), tmp_path / "scenario.toml")
    return tmp_path


def test_the_command_is_printed_and_the_app_written(command, folder):
    shown = command("deploy", "run", "scenario.toml", "--scheme", "fedasync", "--print")
    assert shown.code == 0
    assert "flwr run deployment/app dmafl --format json" in shown.out
    project = (folder / "deployment" / "app" / "pyproject.toml").read_text(encoding="utf-8")
    assert f'scenario = "{folder}/scenario.toml"' in project
    assert f'output = "{folder}/runs/' in project


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--scheme", "fedsync"], "fedsync"),
        (["--scheme", "baselines"], "must be one"),
        (["--scheme", "scheduled"], "plan"),
        (["--plan", "nowhere.json"], "nowhere.json"),
    ],
)
@pytest.mark.parametrize("name", ["run", "simulate"])
def test_what_cannot_be_run_is_refused_before_anything_starts(command, folder, name, words, says):
    shown = command("deploy", name, "scenario.toml", *words)
    assert shown.code == 2
    assert says in shown.err
    assert not (folder / "deployment").exists()


def test_options_of_a_live_page_need_it(command, folder):
    shown = command("deploy", "run", "scenario.toml", "--scheme", "fedasync", "--port", "8400")
    assert shown.code == 2
    assert "needs --serve" in shown.err


def test_goals_need_a_plan_first(command, folder):
    plain = preset("demo").plain() | {"goals": {"accuracy": {"mnist": 0.7}}}
    save(from_plain(plain), folder / "scenario.toml")
    shown = command("deploy", "run", "scenario.toml", "--scheme", "fedasync")
    assert shown.code == 2
    assert "`dmafl plan`" in shown.err


def test_without_the_engine_it_says_how_to_install_it(command, folder, monkeypatch):
    monkeypatch.setattr("dmafl.deployment.flower_simulation.find_spec", lambda name: None)
    shown = command("deploy", "simulate", "scenario.toml", "--scheme", "fedasync")
    assert shown.code == 2
    assert ".[deploy,deploy-simulate]" in shown.err
