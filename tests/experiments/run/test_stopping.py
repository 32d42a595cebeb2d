"""Runs that are stopped at any moment, in any way, go on to the same bytes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from support.patience import PATIENCE_S, carried_out, ended, wait_until
from support.tiny_files import Files

KILLS = 20
SIGNALS = 8
STARTED_PARTS = 8
"""After so many part files both workers have surely begun."""


def drive(files: Files, root: Path, modes: list[str], times: int) -> dict[str, Any]:
    order = {
        "scenario": str(files.scenario),
        "data": str(files.data),
        "root": str(root),
        "schemes": ["fedasync", "fedavg-partial"],
        "modes": modes,
        "times": times,
        "seed": 1,
    }
    script = Path(__file__).parents[2] / "support" / "run_driver.py"
    done = carried_out([sys.executable, str(script), json.dumps(order)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_kill_9_at_random_moments(files: Files, tmp_path: Path) -> None:
    seen = drive(files, tmp_path, ["SIGKILL"], KILLS)
    assert seen["problems"] == []
    assert set(seen["codes"]["SIGKILL"]) <= {0, -9}
    assert seen["stopped"] == KILLS
    assert seen["in_the_middle"] >= KILLS // 10


def test_a_signal_saves_the_state_and_exits_with_130(files: Files, tmp_path: Path) -> None:
    seen = drive(files, tmp_path, ["SIGINT", "SIGTERM"], SIGNALS)
    assert seen["problems"] == []
    assert seen["stopped"] == SIGNALS
    assert set(seen["codes"]["SIGINT"]) <= {0, 130}
    assert set(seen["codes"]["SIGTERM"]) <= {0, 130}
    assert seen["in_the_middle"] >= SIGNALS // 4
    lines = {
        mode: [line for path in tmp_path.glob(f"{mode}-*.log") for line in path.read_text().splitlines()]
        for mode in seen["codes"]
    }
    for mode, codes in seen["codes"].items():
        said = [line for line in lines[mode] if line.startswith("interrupted")]
        assert len(said) == codes.count(130)
        assert not any("Traceback" in line for line in lines[mode])
    saved = "interrupted; state saved. Go on with --resume"
    assert any(line.startswith(saved) for mode in lines for line in lines[mode])


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to find the workers")
def test_sigterm_to_the_whole_group_saves_the_state(files: Files, tmp_path: Path) -> None:
    """Batch systems, containers and `timeout` tell all processes of a job, workers too, that it is to end."""
    long = tmp_path / "long.toml"
    long.write_text(files.scenario.read_text().replace("slots = 5", "slots = 100000"))
    arguments = [
        "run",
        str(long),
        "--data-dir",
        str(files.data),
        "--scheme",
        "fedasync",
        "-o",
        str(tmp_path / "run"),
    ]
    going = subprocess.Popen(
        [sys.executable, "-m", "dmafl", *arguments, "--workers", "2", "--checkpoint-s", "0.2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    parts = tmp_path / "run" / "parts" / "fedasync-s0"
    try:
        wait_until(lambda: len(list(parts.glob("*.parquet"))) >= STARTED_PARTS, "the first parts")
        # All get it in some order; the worst one is workers first.
        children = Path(f"/proc/{going.pid}/task/{going.pid}/children").read_text().split()
        assert len(children) >= 2
        for child in children:
            os.kill(int(child), signal.SIGTERM)
        time.sleep(0.5)
        going.send_signal(signal.SIGTERM)
        _, text = ended(going)
    finally:
        going.kill()
        going.wait(PATIENCE_S)
    assert "Traceback" not in text
    assert going.returncode == 130
    assert (tmp_path / "run" / "checkpoint" / "fedasync-s0" / "state.json").exists()
