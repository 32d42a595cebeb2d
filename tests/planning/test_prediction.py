"""Predicted accuracy of plans: in the value, in the file, and checked."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dmafl.base.errors import BadInput
from dmafl.planning.effort import Effort
from dmafl.planning.problem import make_problem
from dmafl.planning.solve import solve
from dmafl.schedule.plan import Plan
from dmafl.schedule.plan_files import plan_bytes, read_plan, write_plan
from dmafl.schedule.plan_verification import verify_plan
from dmafl.schedule.predicted_accuracy import PredictedAccuracy
from dmafl.theory.course import predict_jobs
from dmafl.theory.jobs import jobs_of
from support.goal_problems import CURVE, with_curve
from support.synthetic_problems import synthetic_estimates, synthetic_world


def _plan(*, curve: bool) -> Plan:
    world = synthetic_world(4, 2, 6, seed=3)
    estimates = synthetic_estimates(world, 3)
    known = with_curve(estimates) if curve else estimates
    return solve(make_problem(world, known), effort=Effort(0.5))


def test_a_plan_says_what_its_schedule_is_predicted_to_reach() -> None:
    plan = _plan(curve=True)
    estimates = synthetic_estimates(plan.world, 3)
    assert list(plan.predicted) == list(plan.world.task_names)
    for number, (name, expected) in enumerate(plan.predicted.items()):
        known = estimates[name]
        assert known.calibration is not None
        jobs = jobs_of(plan.world.as_planned(), plan.schedule, plan.timeline, number)
        loss = predict_jobs(jobs, known.constants, known.labels, known.calibration).value
        low, high = CURVE.interval(loss, 0.8)
        assert expected == PredictedAccuracy(loss, CURVE.at(loss), low, high, 0.8)


def test_the_file_of_a_plan_without_a_curve_is_as_it_was(tmp_path: Path) -> None:
    with_, without = _plan(curve=True), _plan(curve=False)
    assert not without.predicted
    assert b'"predicted"' not in plan_bytes(without)
    assert plan_bytes(replace(with_, predicted={})) == plan_bytes(without)


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_the_file_holds_it(tmp_path: Path, suffix: str) -> None:
    plan, path = _plan(curve=True), tmp_path / f"plan{suffix}"
    write_plan(plan, path)
    assert read_plan(path).plan.predicted == plan.predicted
    assert all(check.ok for check in verify_plan(path))


def test_predictions_that_cannot_be_are_found(tmp_path: Path) -> None:
    plan, path = _plan(curve=True), tmp_path / "plan.json"
    name, expected = next(iter(plan.predicted.items()))
    for odd in ({name: replace(expected, low=0.9, high=0.1)}, {"nobody": expected}):
        write_plan(replace(plan, predicted=odd), path)
        broken = [check.name for check in verify_plan(path) if not check.ok]
        assert broken == ["predicted"]
    write_plan(plan, path)
    header = json.loads(path.read_text())
    for wrong in ([], {name: {}}, {name: dict.fromkeys(header["predicted"][name], "a")}):
        path.write_text(json.dumps(header | {"predicted": wrong}))
        with pytest.raises(BadInput, match="predicted"):
            read_plan(path)
