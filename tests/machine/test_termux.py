"""The battery of a phone as Termux tells it, by a command that may fail in many ways."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dmafl.machine import termux
from dmafl.machine.system_files import NoReading
from support.system_trees import phone

STATUS = {"plugged": "UNPLUGGED", "status": "DISCHARGING", "percentage": 45, "current": -394, "voltage": 4000}


def says(**other: object) -> str:
    return f"cat <<'END'\n{json.dumps({**STATUS, **other})}\nEND"


@pytest.mark.parametrize("current", [-394, 394_000])
def test_milliamperes_and_microamperes(tmp_path: Path, current: int) -> None:
    """By hand: 0.394 A at 4 V for ten seconds."""
    phone(tmp_path, says(current=current))
    meter = termux.find(tmp_path)
    assert meter is not None
    assert meter.source == "Termux termux-battery-status"
    meter.since_last_J(0.0)
    assert meter.since_last_J(10.0) == pytest.approx(15.76)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (says(plugged="PLUGGED_USB"), "the phone is PLUGGED_USB"),
        (says(status="CHARGING"), "CHARGING"),
        (says(voltage=None), "no voltage: a newer Termux:API does"),
        (says(current=0), "no current"),
        (says(current="many"), "no current"),
        ("exit 3", "failed"),
        ("echo [1, 2]", "failed"),
        ("echo '{\"plugged\": '", "failed"),
        ("head -c 100 /dev/zero", "failed"),
    ],
)
def test_a_phone_that_tells_nothing(tmp_path: Path, script: str, said: str) -> None:
    phone(tmp_path, script)
    with pytest.raises(NoReading, match=said):
        termux.find(tmp_path)


def test_a_command_that_never_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(termux, "PATIENCE_S", 0.05)
    phone(tmp_path, "exec sleep 20")
    with pytest.raises(NoReading, match="is the app Termux:API installed"):
        termux.find(tmp_path)


def test_a_file_that_is_no_command(tmp_path: Path) -> None:
    phone(tmp_path, says()).chmod(0o644)
    with pytest.raises(NoReading, match="failed"):
        termux.find(tmp_path)


def test_a_machine_without_it(tmp_path: Path) -> None:
    assert termux.find(tmp_path) is None
