"""`dmafl measure` as a user sees it."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

import dmafl
from dmafl.calibration.measured import Cost
from dmafl.reports.terminal.measure_view import MeasureView
from dmafl.reports.terminal.measured_table import calibration_lines
from support.patience import PATIENCE_S, carried_out, ended, wait_until
from support.tiny_measurements import measured, tiny, without
from support.warm_process import warm_python

SMALL = """preset = "demo"
[theory]
gradient_bound = 2.0
[fleet]
devices = 4
[tasks.mnist]
slots = 15
samples = 60
batch_max = 10
steps_max = 8
"""


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("DMAFL_DATA_DIR", raising=False)
    monkeypatch.setenv("DMAFL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "scenario.toml"
    path.write_text(SMALL)
    return path


def test_measure_prints_constants_and_prediction(command, small: Path, tmp_path: Path) -> None:
    told = command("measure", small, "--probes", 12, "--workers", 1)
    assert told.code == 0, told.err
    for text in (
        "mnist: curvature",
        "mnist: 12 of 12 probes",
        "Constants of mnist",
        "smoothness",
        "used: 2 (set by the",
        "Δ_i^AC [1/s]",
        "Prediction of the loss of mnist",
        "label_bias",
        "12 probes of 15 slots: ",
        "rank correlation with the loss reached",
        "Wrote measured.json",
    ):
        assert text in told.out, text
    found = dmafl.read_measured(tmp_path / "measured.json")
    assert found.tasks["mnist"].calibration is not None
    again = command("measure", small, "--probes", 12, "-o", "again.json")
    assert "curvature" not in again.out
    assert (tmp_path / "again.json").read_text() == (tmp_path / "measured.json").read_text()


def test_measure_without_probes_or_cache(command, small: Path, tmp_path: Path) -> None:
    told = command("measure", small, "--probes", 0, "--no-cache", "-o", "constants.json")
    assert told.code == 0, told.err
    assert "No probes were run" in told.out
    assert dmafl.read_measured("constants.json").tasks["mnist"].calibration is None
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("arguments", [("--probes", 5), ("--data-dir", "nowhere")])
def test_measure_refuses(command, small: Path, arguments: tuple[object, ...]) -> None:
    told = command("measure", small, *arguments)
    assert told.code == 2
    assert told.err.startswith("error: `")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_keeps_what_is_done_and_exits_with_130(small: Path, tmp_path: Path, number: int) -> None:
    small.write_text(SMALL.replace("slots = 15", "slots = 150"))
    arguments = [warm_python(), "-m", "dmafl", "measure", str(small), "--probes", "3000", "--workers", "1"]
    going = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    probes = tmp_path / "cache" / "measured" / "probes"
    try:
        wait_until(lambda: len(list(probes.glob("*/*.json"))) >= 3, "three probes")
        going.send_signal(number)
        _, text = ended(going)
    finally:
        going.kill()
        going.wait(PATIENCE_S)
    assert going.returncode == 130
    assert "of 3000 probes are done, what is done is kept: the same command goes on." in text
    assert "Traceback" not in text
    assert len(list(probes.glob("*/*.json"))) >= 3


def test_bars_on_a_terminal() -> None:
    written = io.StringIO()
    out = Console(file=written, force_terminal=True, width=100, color_system=None)
    with MeasureView(out) as view:
        view.stage("digits", "curvature")
        view.total("digits", 4, 1)
        for probe in range(3):
            view.ended("digits", f"probe {probe}")
    last = written.getvalue()
    assert "digits" in last
    assert "4/4" in last
    assert "/s" in last


def test_lines_tell_of_lost_probes_and_bad_rankings(tmp_path: Path) -> None:
    found = measured(tiny(), tmp_path).tasks["one"]
    lost = without(
        dmafl.Measured("", {"one": found}),
        "one",
        calibration=None,
        cost=Cost(probes=12, diverged=3, slots=60, warm_up_slots=60, probes_s=1.5),
    ).tasks["one"]
    first, second = calibration_lines(lost)
    assert first == (
        "12 probes of 60 slots after a warm-up of 60 slots, 3 of them diverged and were left out: "
        "1.5 s of CPU time."
    )
    assert second.startswith("Warning: 9 probes stayed finite")
    poor = type(found.calibration)(**{**vars(found.calibration), "correlation": 0.3})
    lines = calibration_lines(
        without(dmafl.Measured("", {"one": found}), "one", calibration=poor).tasks["one"]
    )
    assert lines[-1].startswith("Warning: The prediction ranks probes with a correlation of 0.30")


def test_help_is_quick() -> None:
    """The command line must not load torch to say what it can do."""
    code = "import sys; import dmafl.cli.app; print('torch' in sys.modules or 'numpy' in sys.modules)"
    done = carried_out([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ)
    assert done.stdout.strip() == "False"
