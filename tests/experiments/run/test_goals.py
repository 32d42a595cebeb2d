"""Runs of scenarios with goals: one plan decides how many aggregations everybody trains for."""

from __future__ import annotations

from pathlib import Path

import pytest

import dmafl
from dmafl.base.errors import BadInput
from dmafl.calibration.measured import Measured
from dmafl.experiments.run.folder import RunFolder
from dmafl.scenario.keys import with_values
from dmafl.scenario.model import Scenario
from dmafl.scenario.toml import from_plain
from dmafl.schedule.plan import Plan

SLOTS = 30
EFFORT = 1.0


@pytest.fixture(scope="module")
def measured() -> Measured:
    return dmafl.measure(dmafl.preset("demo"))


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return from_plain(
        {
            "preset": "demo",
            "tasks": {"mnist": {"slots": SLOTS}},
            "goals": {"accuracy": 0.6, "device_energy_J": 5.0},
        }
    )


@pytest.fixture(scope="module")
def plan(scenario: Scenario, measured: Measured) -> Plan:
    return dmafl.plan(scenario, measured=measured, effort=EFFORT)


def test_other_schemes_train_for_the_numbers_of_the_plan(
    scenario: Scenario, measured: Measured, plan: Plan, tmp_path: Path
) -> None:
    schemes = ["dma-fl", "dma-fl-nr", "dma-fl-online", "fedasync"]
    run = dmafl.run(
        scenario, plan, schemes=schemes, output=tmp_path / "run", measured=measured, effort=EFFORT
    )
    assert [str(check) for check in dmafl.verify_run(run.path) if not check.ok] == []
    slots = plan.world.scenario.tasks["mnist"].slots
    assert slots < SLOTS
    assert run.scenario.tasks["mnist"].slots == slots
    last = {row["scheme"]: row["aggregation"] for row in run.metrics.to_pylist()}
    assert last == dict.fromkeys(schemes, slots)
    kept = RunFolder(run.path).read_plan("dma-fl-s0")
    assert kept is not None and (kept.plan.schedule.device == plan.schedule.device).all()


def test_without_a_plan_that_of_the_scenario_decides_for_all_seeds(
    scenario: Scenario, measured: Measured, plan: Plan, tmp_path: Path
) -> None:
    given = {"schemes": ["dma-fl", "fedbuff"], "seeds": [0, 1], "output": tmp_path / "run"}
    run = dmafl.run(scenario, measured=measured, effort=EFFORT, **given)
    assert [str(check) for check in dmafl.verify_run(run.path) if not check.ok] == []
    assert run.scenario.as_asked == scenario
    assert run.scenario.tasks["mnist"].slots == plan.world.scenario.tasks["mnist"].slots
    mine, other = (RunFolder(run.path).read_plan(f"dma-fl-s{seed}") for seed in (0, 1))
    assert mine is not None and other is not None
    assert (mine.plan.schedule.start_s == plan.schedule.start_s).all()
    assert other.plan.world.scenario.goals == plan.world.scenario.goals
    again = dmafl.run(scenario, measured=measured, effort=EFFORT, resume=True, **given)
    assert again.metrics.equals(run.metrics)


def test_a_plan_for_other_goals_is_refused(scenario: Scenario, plan: Plan, tmp_path: Path) -> None:
    other = with_values(scenario, {"goals.accuracy": 0.5})
    with pytest.raises(BadInput, match="must be made for this scenario"):
        dmafl.run(other, plan, output=tmp_path / "run")


def test_goals_need_constants_to_be_settled(scenario: Scenario, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="measured"):
        dmafl.run(scenario, schemes=["fedasync"], measure="never", output=tmp_path / "run")


def test_a_sweep_of_plans_answers_what_accuracies_cost(
    scenario: Scenario, measured: Measured, tmp_path: Path
) -> None:
    swept = dmafl.sweep(
        scenario,
        {"goals.accuracy": [0.5, 0.7]},
        output=tmp_path / "sweep",
        plan_only=True,
        measured=measured,
        effort=EFFORT,
    )
    rows = sorted(swept.table.to_pylist(), key=lambda row: row["goals.accuracy"])
    assert len(rows) == 2
    energies = [row["energy_J"] for row in rows]
    assert 0 < energies[0] < energies[1]
