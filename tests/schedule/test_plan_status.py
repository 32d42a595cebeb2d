"""Statuses of plans, and the name of what they were made with: words in files, values in code."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import dmafl
from dmafl.base.errors import BadInput
from dmafl.schedule.jobs import Schedule
from dmafl.schedule.plan import Plan
from dmafl.schedule.plan_quality import NO_QUALITY, PlanQuality
from dmafl.schedule.plan_status import PlanStatus
from support.made_up_runs import scenario


@pytest.fixture(scope="module")
def plan() -> Plan:
    world = dmafl.World.resolve(scenario())
    return Plan(world, dmafl.round_robin(world))


def late(plan: Plan) -> Plan:
    """The same plan with a job that starts before its device is free."""
    columns: dict[str, Any] = plan.schedule.columns()
    columns["start_s"] = columns["start_s"] + 1e6
    return replace(plan, schedule=Schedule.from_columns(columns))


def test_without_a_word_of_the_solver_the_rules_decide(plan: Plan) -> None:
    assert plan.status is PlanStatus.EXECUTABLE
    assert late(plan).status is PlanStatus.NOT_EXECUTABLE
    assert replace(plan, solver_status=PlanStatus.CUT_OFF).status is PlanStatus.CUT_OFF


@pytest.mark.parametrize("status", PlanStatus)
@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_files_keep_every_status(plan: Plan, status: PlanStatus, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"plan{suffix}"
    dmafl.write_plan(replace(plan, solver_status=status), path)
    assert dmafl.read_plan(path).plan.status is status


def test_a_file_has_the_words_of_the_status(plan: Plan, tmp_path: Path) -> None:
    dmafl.write_plan(plan, tmp_path / "plan.json")
    assert json.loads((tmp_path / "plan.json").read_text())["status"] == "executable"


@pytest.mark.parametrize("status", ["", "done", "Executable", "cut off after 3 s"])
def test_an_unknown_status_is_refused(plan: Plan, status: str, tmp_path: Path) -> None:
    dmafl.write_plan(plan, tmp_path / "plan.json")
    content = json.loads((tmp_path / "plan.json").read_text())
    (tmp_path / "plan.json").write_text(json.dumps(content | {"status": status}))
    with pytest.raises(
        BadInput, match=r"`.*status` must be one of 'executable', 'not executable'.*Write the"
    ):
        dmafl.read_plan(tmp_path / "plan.json")


@pytest.mark.parametrize("status", ["executable", "not executable"])
def test_a_status_that_the_rules_deny_is_found(plan: Plan, status: str, tmp_path: Path) -> None:
    wrong = plan if status == "not executable" else late(plan)
    dmafl.write_plan(replace(wrong, solver_status=PlanStatus(status)), tmp_path / "plan.json")
    names = [check for check in dmafl.verify_plan(tmp_path / "plan.json") if check.name == "names"]
    assert f"status: '{status}', but the rules say otherwise" in str(names[0])


def test_what_is_not_well_has_a_remedy() -> None:
    well = {PlanStatus.EXECUTABLE, PlanStatus.BEST_OF_ALL}
    assert {status for status in PlanStatus if not status.remedy} == well
    assert PlanStatus.BEST_OF_ALL.sentence == "best of all schedules."
    assert PlanStatus.EFFORT_USED_UP.sentence.startswith(
        "effort used up before all schedules were tried. Raise"
    )


@pytest.mark.parametrize("name", ["none", "calibrated+gram", "printed+diagonal", "x"])
def test_a_quality_keeps_its_name(name: str) -> None:
    assert str(PlanQuality.parse(name)) == name


def test_a_quality_has_two_parts() -> None:
    assert PlanQuality.parse("calibrated+gram") == PlanQuality("calibrated", "gram")
    assert PlanQuality.parse("none") == NO_QUALITY
    assert PlanQuality.parse("none+gram") != NO_QUALITY


def test_a_file_keeps_the_quality(plan: Plan, tmp_path: Path) -> None:
    dmafl.write_plan(replace(plan, quality=PlanQuality("sharp", "diagonal")), tmp_path / "plan.json")
    assert json.loads((tmp_path / "plan.json").read_text())["quality"] == "sharp+diagonal"
    assert dmafl.read_plan(tmp_path / "plan.json").plan.quality == PlanQuality("sharp", "diagonal")
