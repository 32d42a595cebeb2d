"""`dmafl deploy simulate`: the app in Flower's simulation engine, whose Ray gets a network of its own."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import dmafl
from dmafl.scenario.toml import save
from support.clusters import ALONE, can_be_alone
from support.flower import need
from support.patience import carried_out
from support.real_deployments import cheap

pytestmark = pytest.mark.deploy
SIMULATED_S = 900.0


def test_it_makes_a_run_like_any_other(tmp_path: Path) -> None:
    need()
    if find_spec("ray") is None or not can_be_alone():
        pytest.skip("needs flwr[simulation] and a network namespace: its Ray listens on all interfaces")
    save(cheap(3, 4), tmp_path / "scenario.toml")
    words = ("deploy", "simulate", tmp_path / "scenario.toml", "--scheme", "fedasync", "-o", tmp_path / "run")
    done = carried_out(
        [*ALONE, sys.executable, "-m", "dmafl", *words],
        SIMULATED_S,
        capture_output=True,
        text=True,
        env=os.environ | {"DMAFL_DATA_DIR": "", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    run = dmafl.Run(tmp_path / "run")
    assert run.manifest.plain()["clock"] == "real"
    rows = [row for row in run.periods.to_pylist() if row["outcome"] == "aggregated"]
    assert len(rows) == 8
    assert len({row["device"] for row in rows}) > 1
    assert [str(check) for check in dmafl.verify_run(run.path) if not check.ok] == []
