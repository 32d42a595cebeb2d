"""Runs that are stopped at any moment, in any way, go on to the same bytes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runs.conftest import Files

KILLS = 20
SIGNALS = 4


def drive(files: Files, root: Path, mode: str, times: int) -> dict[str, Any]:
    order = {
        "scenario": str(files.scenario),
        "data": str(files.data),
        "root": str(root),
        "schemes": ["fedasync", "fedavg-partial"],
        "mode": mode,
        "times": times,
        "seed": 1,
    }
    script = Path(__file__).with_name("driver.py")
    done = subprocess.run([sys.executable, str(script), json.dumps(order)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_kill_9_at_random_moments(files: Files, tmp_path: Path) -> None:
    seen = drive(files, tmp_path, "SIGKILL", KILLS)
    assert seen["problems"] == []
    assert set(seen["codes"]) <= {0, -9}
    assert seen["stops"] >= KILLS * 3 // 4
    assert seen["in_the_middle"] >= KILLS // 2


@pytest.mark.parametrize("mode", ["SIGINT", "SIGTERM"])
def test_a_signal_saves_the_state_and_exits_with_130(files: Files, tmp_path: Path, mode: str) -> None:
    seen = drive(files, tmp_path, mode, SIGNALS)
    assert seen["problems"] == []
    assert 130 in seen["codes"]
    # A signal before the run begins, or after it has ended, has its usual effect.
    assert set(seen["codes"]) <= {0, 130, -15}
    assert seen["in_the_middle"] >= 2
    texts = [path.read_text() for path in tmp_path.glob(f"{mode}-*.log")]
    assert any("interrupted; state saved. Go on with --resume" in text for text in texts)
    assert all("Traceback" not in text for text in texts)
