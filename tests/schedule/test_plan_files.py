"""Plans as files: what is written is read back, checked from the file alone, and damage is found."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import dmafl
from dmafl.base.errors import BadInput
from dmafl.scenario.toml import from_plain
from dmafl.schedule.plan_files import DECISIONS, DERIVED, read_plan


@pytest.fixture(scope="module")
def plan() -> dmafl.Plan:
    world = dmafl.World.resolve(from_plain({"preset": "demo", "fleet": {"devices": 4}}))
    return dmafl.Plan(
        world, dmafl.round_robin(world, in_flight=3), objective=1.5, terms={"mnist": {"a": 1.0}}
    )


@pytest.mark.parametrize("name", ["plan.json", "plan.parquet"])
def test_round_trip(plan: dmafl.Plan, tmp_path: Path, name: str) -> None:
    dmafl.write_plan(plan, tmp_path / name)
    file = read_plan(tmp_path / name)
    for column in DECISIONS:
        assert getattr(file.plan.schedule, column).tolist() == getattr(plan.schedule, column).tolist()
    for column in DERIVED:
        assert file.recorded[column].tolist() == getattr(plan.timeline, column).tolist()
    assert file.plan.objective == 1.5
    assert file.plan.terms == {"mnist": {"a": 1.0}}
    assert file.plan.world.sha256 == plan.world.sha256
    assert all(check.ok for check in dmafl.verify_plan(tmp_path / name))


def test_both_formats_hold_the_same(plan: dmafl.Plan, tmp_path: Path) -> None:
    import pyarrow.parquet

    dmafl.write_plan(plan, tmp_path / "plan.json")
    dmafl.write_plan(plan, tmp_path / "plan.parquet")
    jobs = json.loads((tmp_path / "plan.json").read_text())["jobs"]
    rows = pyarrow.parquet.read_table(tmp_path / "plan.parquet").to_pylist()
    assert jobs == rows


def test_verify_needs_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "devices.csv").write_text("battery_J\n5e3\n6e3\n")
    (tmp_path / "walk.csv").write_text("device,time_s,distance_m\n0,0,10\n0,100,20\n1,50,5\n")
    (tmp_path / "scenario.toml").write_text(
        '[fleet]\ndevices = 2\ntable = "devices.csv"\n[mobility]\nkind = "trace"\nfile = "walk.csv"\n'
        "[tasks.mnist]\nslots = 9\n"
    )
    world = dmafl.World.resolve(dmafl.load(tmp_path / "scenario.toml"))
    dmafl.write_plan(dmafl.Plan(world, dmafl.round_robin(world, in_flight=2)), tmp_path / "plan.json")
    for name in ("devices.csv", "walk.csv", "scenario.toml"):
        (tmp_path / name).unlink()
    assert all(check.ok for check in dmafl.verify_plan(tmp_path / "plan.json"))


TAMPERING = {
    "recorded": lambda p: p["jobs"][3].update(uplink_J=p["jobs"][3]["uplink_J"] * 1.001),
    "claims": lambda p: p["violations"].update(S4_window=1.0),
    "scenario": lambda p: p.update(scenario_sha256="0" * 64),
    "S0_staleness": lambda p: p["jobs"][20].update(version=0),
    "S1_cover": lambda p: p["jobs"].pop(3),
    "S3_causality": lambda p: p["jobs"][3].update(start_s=p["jobs"][3]["start_s"] + 1e6),
    "S5_cpu": lambda p: p["jobs"][3].update(frequency_Hz=1e11),
    "S7_ranges": lambda p: p["jobs"][3].update(steps=2.5),
}


@pytest.mark.parametrize("rule", TAMPERING)
def test_tampering_is_found(plan: dmafl.Plan, tmp_path: Path, rule: str) -> None:
    path = tmp_path / "plan.json"
    dmafl.write_plan(plan, path)
    content = json.loads(path.read_text())
    TAMPERING[rule](content)
    path.write_text(json.dumps(content))
    assert rule in {check.name for check in dmafl.verify_plan(path) if not check.ok}


DAMAGE = {
    "no jobs": lambda p: p.pop("jobs"),
    "no scenario": lambda p: p.pop("scenario"),
    "other schema": lambda p: p.update(schema=7),
    "unknown task": lambda p: p["jobs"][0].update(task="nope"),
    "task as a number": lambda p: p["jobs"][0].update(task=0),
    "no such device": lambda p: p["jobs"][0].update(device=4),
    "negative device": lambda p: p["jobs"][0].update(device=-1),
    "half a slot": lambda p: p["jobs"][0].update(slot=0.5),
    "text for a time": lambda p: p["jobs"][0].update(start_s="soon"),
    "huge number": lambda p: p["jobs"][0].update(slot=10**400),
    "no frequency": lambda p: p["jobs"][0].update(frequency_Hz=0),
    "field missing": lambda p: p["jobs"][0].pop("batch"),
    "field too many": lambda p: p["jobs"][0].update(extra=1),
    "violations as a list": lambda p: p.update(violations=[]),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damaged_files_are_refused(plan: dmafl.Plan, tmp_path: Path, case: str) -> None:
    path = tmp_path / "plan.json"
    dmafl.write_plan(plan, path)
    content = json.loads(path.read_text())
    DAMAGE[case](content)
    path.write_text(json.dumps(content))
    with pytest.raises(BadInput):
        dmafl.verify_plan(path)


def test_truncated_files_are_refused(plan: dmafl.Plan, tmp_path: Path) -> None:
    for name in ("plan.json", "plan.parquet"):
        path = tmp_path / name
        dmafl.write_plan(plan, path)
        path.write_bytes(path.read_bytes()[:-100])
        with pytest.raises(BadInput):
            dmafl.verify_plan(path)


def test_name_must_say_the_format(plan: dmafl.Plan, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"\.json or \.parquet"):
        dmafl.write_plan(plan, tmp_path / "plan.txt")


def test_energy_and_time_of_a_plan_add_up(plan: dmafl.Plan) -> None:
    t, s = plan.timeline, plan.schedule
    total = t.idle_s + t.download_s + t.compute_s + t.upload_s
    for device in range(4):
        for task in range(3):
            rows = (s.device == device) & (s.task == task)
            assert total[rows].sum() == pytest.approx(t.end_s[rows].max(), rel=1e-12)
    assert np.all(t.idle_s >= -1e-12)
