"""`dmafl deploy` without Flower: what it prints, and what it refuses."""

from __future__ import annotations

import json
import shlex

import pytest


@pytest.fixture
def without_flower(monkeypatch):
    monkeypatch.setattr("dmafl.hosting.extra.find_spec", lambda name: None)


@pytest.mark.parametrize(
    "words",
    [["keys", "--device", "a"], ["device", "a", "--data", "m:f"], ["server"], ["status"]],
    ids=lambda words: words[0],
)
def test_without_the_extra_it_says_how_to_install_it(command, without_flower, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = command("deploy", *words)
    assert shown.code == 2
    assert "must have the extra deploy" in shown.err
    assert "constraints-deploy.txt '.[deploy]'" in shown.err
    assert list(tmp_path.iterdir()) == []


def test_commands_of_a_server_are_printed_and_nothing_is_done(command, without_flower, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = command("deploy", "server", "--address", "127.0.0.1:7001", "--print")
    assert shown.code == 0
    superlink = next(line for line in shown.out.splitlines() if "flower-superlink" in line)
    assert {"--enable-supernode-auth", "--ssl-certfile", "--database"} <= set(shlex.split(superlink))
    assert "--insecure" not in shown.out
    assert "export FLWR_TELEMETRY_ENABLED=0" in shown.out
    assert list(tmp_path.iterdir()) == []


def test_the_command_of_a_device_is_printed(command, without_flower, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    options = ["--max-steps", "7", "--share-labels", "--set", "slower=10.0", "--set", "scenario=/x/s.toml"]
    shown = command("deploy", "device", "edge-1", "--data", "data", *options, "--print")
    words = shlex.split(shown.out.splitlines()[-1])
    config = words[words.index("--node-config") + 1]
    assert config.split() == [
        *(f'data="{tmp_path}/data"', "max-steps=7", "share-labels=true"),
        *("slower=10.0", 'scenario="/x/s.toml"'),
    ]


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (["server", "--address", "0.0.0.0:9092", "--insecure"], "this machine alone"),
        (["device", "a", "--data", "m:f", "--server", "192.0.2.1:9092", "--insecure"], "this machine alone"),
        (["device", "a", "--data", "nowhere"], "must be a folder that is there, or module:function"),
        (["device", "a", "--data", "m:f", "--set", "slower"], "must be KEY=VALUE"),
        (["device", "../a", "--data", "m:f"], "must be a name"),
        (["keys"], "must name a server or a device"),
        (["keys", "--host", "a b", "--print"], "must be an IP address or the name"),
        (["keys", "--device", "a/b", "--print"], "must be a name"),
        (["stop", "--folder", "nowhere"], "must be the folder of a deployment"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_what_cannot_be_is_refused(command, tmp_path, monkeypatch, words, rule):
    monkeypatch.chdir(tmp_path)
    shown = command("deploy", *words)
    assert shown.code == 2
    assert rule in shown.err
    assert list(tmp_path.iterdir()) == []


def test_nothing_runs_in_an_empty_folder(command, tmp_path, monkeypatch):
    monkeypatch.setattr("dmafl.cli.deploy_command.need", lambda: None)
    assert "Nothing runs here" in command("deploy", "stop", "--folder", tmp_path).out
    shown = command("deploy", "stop", "server", "--folder", tmp_path)
    assert shown.code == 2
    assert "There are: none" in shown.err
    status = command("deploy", "status", "--folder", tmp_path, "--json")
    assert status.code == 0
    assert json.loads(status.out)["here"] == []
