"""The commands as a user types them."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

import dmafl
from support.patience import carried_out

START_UP_S = 0.5
"""What `dmafl --help` may take; the best of five, because the machine may be busy."""


@pytest.mark.parametrize("preset", ["paper", "phone", "demo"])
def test_init_then_check(command, tmp_path: Path, preset: str) -> None:
    path = tmp_path / "scenario.toml"
    assert command("init", "--preset", preset, "-o", path).code == 0
    assert dmafl.load(path) == dmafl.preset(preset)
    shown = command("check", path, "--no-data")
    assert shown.code == 0
    assert "Tasks" in shown.out
    assert "mnist" in shown.out


def test_check_shows_where_data_come_from(command, tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    command("init", "--preset", "demo", "-o", path)
    shown = command("check", path)
    assert shown.code == 0
    assert "street_digits (stand-in)" in shown.out


def test_init_keeps_an_existing_file(command, tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text("seed = 3\n")
    assert command("init", "-o", path).code == 2
    assert path.read_text() == "seed = 3\n"
    assert command("init", "-o", path, "--force").code == 0
    assert "[fleet]" in path.read_text()


@pytest.mark.parametrize("name", ["plan.json", "plan.parquet"])
def test_verify_accepts_what_we_write(command, tmp_path: Path, name: str) -> None:
    world = dmafl.World.resolve(dmafl.preset("demo"))
    dmafl.write_plan(dmafl.Plan(world, dmafl.round_robin(world, in_flight=3)), tmp_path / name)
    outcome = command("verify", tmp_path / name)
    assert outcome.code == 0
    assert "All checks hold." in outcome.out


def test_verify_names_the_broken_rule(command, tmp_path: Path) -> None:
    world = dmafl.World.resolve(dmafl.preset("demo"))
    path = tmp_path / "plan.json"
    dmafl.write_plan(dmafl.Plan(world, dmafl.round_robin(world)), path)
    plan = json.loads(path.read_text())
    plan["jobs"][5]["start_s"] -= 1.0
    path.write_text(json.dumps(plan))
    outcome = command("verify", path)
    assert outcome.code == 1
    assert "S3_causality: " in outcome.out
    assert "recorded: " in outcome.out


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"{", b'{"schema": 99, "jobs": []}', b"\xff\x00", b'{"jobs": [1]}']
)
def test_verify_refuses_what_is_no_plan(command, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(content)
    outcome = command("verify", path)
    assert outcome.code == 2
    assert outcome.err.startswith("error: `")


def test_data_list(command) -> None:
    outcome = command("data", "list")
    assert outcome.code == 0
    assert all(name in outcome.out for name in ("mnist", "fashion_mnist", "street_digits"))


def test_unknown_command_and_flag(command) -> None:
    assert command("chekc").code == 2
    assert command("check", "--nope").code == 2
    assert command("--version").out.strip() == dmafl.__version__


def test_help_is_quick() -> None:
    """Computing time, which other work on the machine does not lengthen much; and nothing heavy is loaded."""
    times = []
    for _ in range(5):
        before = os.times()
        carried_out([sys.executable, "-m", "dmafl", "--help"], check=True, capture_output=True)
        after = os.times()
        times.append(
            after.children_user + after.children_system - before.children_user - before.children_system
        )
    heavy = carried_out(
        [sys.executable, "-X", "importtime", "-m", "dmafl", "--help"],
        check=True,
        capture_output=True,
        text=True,
    ).stderr
    loaded = {line.rpartition("|")[2].strip() for line in heavy.splitlines()}
    assert not loaded & {"numpy", "torch", "pydantic", "pyarrow", "matplotlib", "scipy"}
    assert min(times) < START_UP_S


def test_pipe_that_closes_early(tmp_path: Path) -> None:
    command = f"{sys.executable} -m dmafl data list | head -n 1"
    done = carried_out(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    assert "Traceback" not in done.stderr
