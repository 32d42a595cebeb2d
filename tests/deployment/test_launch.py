"""How a run is started and followed, with a pretended Flower: what is asked, and when a run is begun again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomlkit

import dmafl
from dmafl.base.errors import BadInput
from dmafl.deployment.app_folder import SETTINGS, write_app
from dmafl.deployment.launch import TRIES, Failed, Launch
from dmafl.deployment.real_run import RealRun, real_run_of, run_on_devices
from dmafl.hosting.flower import Command
from dmafl.hosting.layout import Layout
from dmafl.hosting.registry import NoAnswer
from dmafl.scenario.preset import preset
from dmafl.scenario.toml import save
from support.pretended_network import Network
from support.small_runs import components, scenario

SMALL = scenario({"one": {"slots": 4}}, devices=2)


class Flower:
    """Answers commands; `lives` are what becomes of each run: finished, or why it failed."""

    def __init__(self, *lives: str, then: Callable[[int], None] = lambda number: None) -> None:
        self.lives, self.then = list(lives), then
        self.asked: list[str] = []
        self.resumes: list[bool] = []
        self.runs = 0

    def __call__(self, command: Command) -> dict[str, Any]:
        words = command.words
        self.asked.append(words[1])
        if words[1] == "run":
            config = tomlkit.parse((Path(words[2]) / "pyproject.toml").read_text(encoding="utf-8")).unwrap()
            self.resumes.append(config["tool"]["flwr"]["app"]["config"]["resume"])
            self.runs += 1
            self.then(self.runs)
            return {"run-id": str(self.runs)}
        if words[1] == "stop":
            return {}
        life = self.lives[self.runs - 1]
        if life == "no answer":
            self.lives[self.runs - 1] = "finished"
            raise NoAnswer("pretended")
        done = life == "finished"
        status = "finished:completed" if done else "finished:failed"
        return {
            "runs": [{"run-id": str(self.runs), "status": status, "status-details": "" if done else life}]
        }


def launch(flower: Flower, folder: Path, said: list[str]) -> Launch:
    return Launch(
        Layout(folder / "deployment"), folder / "run", ["one"], {}, said.append, lambda seconds: None, flower
    )


def carried_out(folder: Path) -> None:
    network = Network.of(2)
    asked = RealRun(SMALL, folder / "run", "fedasync", resume=True, components=components(SMALL))
    run_on_devices(asked, network, time=network.clock.real_time())


def test_a_run_is_started_followed_and_given(tmp_path: Path) -> None:
    said: list[str] = []
    flower = Flower("finished", then=lambda number: carried_out(tmp_path))
    run = launch(flower, tmp_path, said).carry_out(resume=False)
    assert run.manifest.status == "finished"
    assert flower.asked == ["run", "list"]
    assert flower.resumes == [False]
    assert "flwr run" in said[0]
    assert any("aggregation 4, accuracy" in line for line in said)


def test_one_whose_server_part_was_killed_is_begun_again_where_it_was(tmp_path: Path) -> None:
    def die_twice(number: int) -> None:
        if number == 1:
            network = Network.of(2)
            killed = RealRun(SMALL, tmp_path / "run", "fedasync", components=components(SMALL))
            calls = [0]
            before = network.push

            def push(*given: Any) -> Any:
                calls[0] += 1
                if calls[0] > 3:
                    raise KeyboardInterrupt
                return before(*given)

            network.push = push  # type: ignore[method-assign]
            with pytest.raises(KeyboardInterrupt):
                run_on_devices(killed, network, time=network.clock.real_time())
        if number == 3:
            carried_out(tmp_path)

    said: list[str] = []
    flower = Flower("No heartbeat", "No heartbeat", "no answer", then=die_twice)
    run = launch(flower, tmp_path, said).carry_out(resume=False)
    assert all(check.ok for check in dmafl.verify_run(run.path))
    assert flower.resumes == [False, True, True]
    assert sum("No heartbeat. It goes on" in line for line in said) == 2


def test_one_that_never_gets_on_is_given_up(tmp_path: Path) -> None:
    def begin(number: int) -> None:
        (tmp_path / "run").mkdir(exist_ok=True)
        (tmp_path / "run" / "manifest.json").touch()

    flower = Flower(*["no devices"] * 9, then=begin)
    with pytest.raises(Failed, match="no devices"):
        launch(flower, tmp_path, []).carry_out(resume=False)
    assert flower.runs == TRIES


def test_one_that_cannot_begin_is_not_tried_again(tmp_path: Path) -> None:
    flower = Flower("bad scenario")
    with pytest.raises(Failed, match="bad scenario"):
        launch(flower, tmp_path, []).carry_out(resume=False)
    assert flower.runs == 1


def test_a_stop_ends_the_run_at_flower_too(tmp_path: Path) -> None:
    flower = Flower("finished")

    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    started = Launch(
        Layout(tmp_path / "deployment"), tmp_path / "run", ["one"], {}, lambda line: None, interrupted, flower
    )
    with pytest.raises(KeyboardInterrupt):
        started.carry_out(resume=False)
    assert flower.asked == ["run", "stop"]
    assert threading.active_count() < 50


def test_the_app_has_every_setting_and_names_its_tasks(tmp_path: Path) -> None:
    folder = write_app(tmp_path / "app", ["mnist", "b's"], {"scenario": "/s.toml", "resume": True})
    project = tomlkit.parse((folder / "pyproject.toml").read_text(encoding="utf-8")).unwrap()
    assert project["tool"]["flwr"]["app"]["config"] == {**SETTINGS, "scenario": "/s.toml", "resume": True}
    assert project["project"]["license"] == {"file": "LICENSE"}
    assert (folder / "LICENSE").is_file()
    code = (folder / "dmafl_app" / "client_app.py").read_text(encoding="utf-8")
    assert "('mnist', \"b's\")" in code
    compile(code, "client_app.py", "exec")
    with pytest.raises(BadInput, match="scheme"):
        write_app(tmp_path / "app", ["mnist"], {"sceme": "fedasync"})


def test_settings_of_an_app_are_those_of_a_run(tmp_path: Path) -> None:
    save(preset("demo"), tmp_path / "scenario.toml")
    config = {
        **SETTINGS,
        "scenario": str(tmp_path / "scenario.toml"),
        "output": "/out",
        "scheme": "fedbuff",
        "deadline-s": 42.0,
        "start-with": 3,
    }
    asked = real_run_of(config)
    assert (asked.output, asked.scheme, asked.start_with) == (Path("/out"), "fedbuff", 3)
    assert (asked.patience.deadline_s, asked.patience.poll_s, asked.wait_s) == (42.0, 0.5, 300.0)
    assert not asked.resume
