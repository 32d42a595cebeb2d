"""`dmafl size` as a user sees it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from dmafl.calibration.measured import write_measured
from support.patience import carried_out, ended, wait_until
from support.sizings import EFFORT, shipped
from support.warm_process import warm_python

SMALL = """preset = "demo"
[tasks.mnist]
slots = 12
"""
QUICK = ("--effort", EFFORT, "--front", 0, "--workers", 1)
WIDEST = 160


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("DMAFL_DATA_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    Path("scenario.toml").write_text(SMALL)
    write_measured(shipped(), "measured.json")
    return tmp_path


def size(command, *arguments: object):
    return command("size", "scenario.toml", "--measured", "measured.json", *QUICK, *arguments)


def test_tables_pictures_and_files(command, folder: Path) -> None:
    arguments = ("--accuracy", "mnist=0.6", "--times-per-day", 3, "--confirm", 1, "--off", 0.2)
    told = size(command, *arguments, "--front", 2, "--deadline", "1min", "--vary", "fleet.devices=9..10")
    assert told.code == 0, told.err
    for title in ("The plan", "What one training asks", "What a day asks", "Energy against", "Values tried"):
        assert title in told.out
    assert "The smallest fleet.devices that does: 9" in told.out
    assert "up to 20% slower and hungrier" in told.out
    assert "Limits kept by 1 of 1" in told.out
    assert "In the mean: joules of devices +" in told.out
    tables = [line for line in told.out.splitlines() if line.startswith(("┃", "│"))]
    assert len(tables) > 30 and max(map(len, tables)) <= WIDEST
    assert {"plan.json", "sizing.json", "front.png"} <= {path.name for path in (folder / "sizing").iterdir()}
    again = size(
        command, *arguments, "--front", 2, "--deadline", "1min", "--vary", "fleet.devices=9..10", "--json"
    )
    assert json.loads(again.out) == json.loads((folder / "sizing" / "sizing.json").read_text())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "`goals` must have a goal"),
        (("--accuracy", "cifar=0.5"), "must name tasks of the scenario; got 'cifar'"),
        (("--accuracy", "0.6", "--vary", "fleet.devices=9..3"), "must have LOW <= HIGH; got 9..3"),
        (("--accuracy", "0.6", "--vary", "fleet.device=3..9"), "Did you mean `fleet.devices`?"),
        (("--accuracy", "0.6", "--vary", "fleet.devices=3"), "`--vary` must be KEY=LOW..HIGH"),
        (("--accuracy", "0.6", "--vary", "fleet.devices=a..b"), "must have numbers for LOW and HIGH"),
        (("--accuracy", "0.6", "--confirm", "0"), "`confirm` must be at least 1 seed; got 0"),
        (("--accuracy", "0.6", "--deadline", "soon"), "must be a time with a unit"),
        (("--accuracy", "0.99"), "must be reached by 80% of the runs"),
        (("--accuracy", "0.6", "--deadline", "1e-3s"), "goals.deadline_s"),
    ],
)
def test_what_cannot_be_done_is_one_message(command, folder: Path, arguments: tuple, message: str) -> None:
    told = size(command, *arguments)
    assert told.code == 2
    assert message in told.err and "Traceback" not in told.err


def test_names_are_shown_as_they_are(command, folder: Path) -> None:
    rows = ["id,battery_J", *(f"[bold]phone {i}[/bold],100" for i in range(10))]
    Path("devices.csv").write_text("\n".join(rows) + "\n")
    Path("scenario.toml").write_text(
        'preset = "demo"\n[fleet]\ntable = "devices.csv"\n[tasks.mnist]\nslots = 12\n'
    )
    told = size(command, "--accuracy", "0.6")
    assert told.code == 0, told.err
    assert "[bold]phone 7[/bold]" in told.out


def test_a_stop_keeps_what_is_done(folder: Path) -> None:
    words = [warm_python(), "-m", "dmafl", "size", "scenario.toml", "--measured", "measured.json"]
    words += ["--accuracy", "0.6", "--effort", "2", "--front", "7", "--workers", "1"]
    started = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ)
    plans = folder / "sizing" / "plans"
    wait_until(lambda: any(plans.glob("*.json")) or started.poll() is not None, "the first plan")
    started.send_signal(signal.SIGINT)
    said = ended(started)
    assert started.returncode == 130, said
    kept = {path.name: path.stat().st_mtime_ns for path in plans.glob("*.json")}
    assert kept and not (folder / "sizing" / "sizing.json").exists()
    assert b"the same command goes on" in said[1]
    carried_out(words, check=True, capture_output=True)
    assert all((plans / name).stat().st_mtime_ns == when for name, when in kept.items())
    assert (folder / "sizing" / "sizing.json").exists()
