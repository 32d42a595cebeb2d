"""`dmafl plan` as a user sees it."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

import dmafl
from dmafl.schedule.plan_status import PlanStatus

SMALL = """preset = "demo"
[fleet]
devices = 3
[tasks.mnist]
slots = 5
samples = 60
batch_max = 10
steps_max = 8
"""
SHARP = ("--quality", "sharp", "--dissimilarity", "diagonal")


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("DMAFL_DATA_DIR", raising=False)
    monkeypatch.setenv("DMAFL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "scenario.toml"
    path.write_text(SMALL)
    return path


def test_the_iterations_of_sca_are_drawn(command, small: Path, tmp_path: Path) -> None:
    told = command("plan", small, *SHARP, "--solver", "sca", "--trace", "trace.svg", "-o", "plan.json")
    assert told.code == 0, told.err
    assert "Trace: trace.svg" in told.out
    assert dmafl.read_plan(tmp_path / "plan.json").plan.solver == "sca"
    assert "<svg" in (tmp_path / "trace.svg").read_text()


def test_only_sca_has_iterations_to_draw(command, small: Path, tmp_path: Path) -> None:
    told = command("plan", small, *SHARP, "--trace", "trace.svg")
    assert told.code == 2
    assert "`trace` needs the solver sca; got 'auto'" in told.err
    assert not (tmp_path / "plan.json").exists()


def test_what_cannot_be_planned_is_named(command, small: Path, tmp_path: Path) -> None:
    small.write_text(SMALL + "window_s = 0.1\n")
    told = command("plan", small, *SHARP)
    assert told.code == 2
    assert "`tasks.mnist.window_s` must leave time for 5 aggregations (rule S4)" in told.err
    assert "Raise window_s to" in told.err
    assert not (tmp_path / "plan.json").exists()


@pytest.mark.parametrize(
    ("option", "value", "rule"),
    [
        ("--quality", "good", "`quality` must be one of"),
        ("--picture", "plan.xyz", "must end in .png, .svg, .pdf"),
    ],
)
def test_a_bad_option_is_refused_before_anything_is_measured(
    command, small: Path, tmp_path: Path, option: str, value: str, rule: str
) -> None:
    told = command("plan", small, option, value)
    assert told.code == 2
    assert rule in told.err
    assert not (tmp_path / "cache").exists()
    assert not (tmp_path / "plan.json").exists()


def ticking(monkeypatch: pytest.MonkeyPatch, tick_s: float) -> None:
    """The planner's clock goes on by this whenever it is looked at."""
    ticks = count()
    clock = SimpleNamespace(monotonic=lambda: tick_s * next(ticks))
    monkeypatch.setattr("dmafl.planning.effort.time", clock)


def test_a_plan_that_was_cut_off_says_so(
    command, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticking(monkeypatch, 0.1)
    told = command("plan", small, *SHARP, "--time-limit", "30", "-o", "plan.json")
    assert told.code == 0, told.err
    assert "Status: cut off by the time limit. For the plan of the whole effort" in told.out
    assert dmafl.read_plan(tmp_path / "plan.json").plan.status is PlanStatus.CUT_OFF


def test_no_time_for_any_plan_is_exit_code_2(
    command, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticking(monkeypatch, 1.0)
    told = command("plan", small, *SHARP, "--time-limit", "0.5", "-o", "plan.json")
    assert told.code == 2
    assert "none after 0.5 s. Raise --time-limit, or leave it out" in told.err
    assert not (tmp_path / "plan.json").exists()
