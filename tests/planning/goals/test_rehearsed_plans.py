"""Plans that are rehearsed: what trainings reach decides whether a goal is met, and corrects the prediction."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from dmafl.planning import effort as effort_module
from dmafl.planning.effort import Effort
from dmafl.planning.goals.plan_for_goals import plan_for_goals
from dmafl.planning.infeasible import Infeasible
from dmafl.schedule.plan import Plan
from dmafl.schedule.plan_files import plan_bytes
from dmafl.schedule.plan_status import PlanStatus
from dmafl.theory.jobs import TaskJobs, jobs_of
from dmafl.world.world import World
from support.goal_problems import NOISE, MadeUpTrainings, goal_estimates, goal_world, random_goals, with_proxy
from support.plan_rules import broken_rules

TASK, SLOTS, EFFORT = "task_0", 32, 2.0
REACHED, TOO_HIGH = 0.86, 0.89
"""Accuracies by the prediction: with a third of the slots, and with none."""
LIMIT_S = 3000.0
"""Enough for a plan, not for its rehearsal, by the made-up clock."""


def planned(
    accuracy: float, off: float | None, effort: float = EFFORT, limit_s: float | None = None
) -> tuple[Plan, MadeUpTrainings]:
    world = goal_world(5, 1, SLOTS, 2, {"accuracy": accuracy})
    known = with_proxy(goal_estimates(world, 2))
    trained = MadeUpTrainings(known, 0.0 if off is None else off)
    plan = plan_for_goals(
        world, known, effort=Effort(effort, limit_s), rehearsing=None if off is None else trained
    )
    assert broken_rules(plan) == {}
    return plan, trained


def jobs(plan: Plan) -> TaskJobs:
    return jobs_of(plan.world.as_planned(), plan.schedule, plan.timeline, 0)


def energy_J(plan: Plan) -> float:
    return float((plan.timeline.uplink_J + plan.timeline.compute_J + plan.timeline.downlink_J).sum())


def test_a_plan_that_trainings_fall_short_of_is_made_again_with_more() -> None:
    without, _ = planned(REACHED, None)
    plan, trained = planned(REACHED, -0.02)
    assert trained.truth(TASK, jobs(without)) < REACHED
    assert trained.truth(TASK, jobs(plan)) >= REACHED
    assert energy_J(plan) > energy_J(without)


def test_the_plan_says_what_its_trainings_reached() -> None:
    plan, trained = planned(REACHED, -0.02)
    seen = np.asarray(plan.constants["goals"]["rehearsed"][TASK])
    assert len(seen) == 8
    expected = plan.predicted[TASK]
    assert expected.accuracy == pytest.approx(float(seen.mean()), abs=1e-9)
    assert expected.low < trained.truth(TASK, jobs(plan)) < expected.high
    assert expected.high - expected.low < 8 * NOISE
    assert expected.confidence == 0.8


def test_a_goal_that_only_the_prediction_calls_out_of_reach_is_planned() -> None:
    with pytest.raises(Infeasible):
        planned(TOO_HIGH, None)
    plan, trained = planned(TOO_HIGH, 0.03)
    assert trained.truth(TASK, jobs(plan)) >= TOO_HIGH
    assert any(calls == SLOTS for calls, _ in trained.calls)


def test_a_goal_out_of_reach_is_refused_with_what_trainings_reach() -> None:
    with pytest.raises(Infeasible, match=r"goals\.accuracy of task_0.*best found is 0\.\d+"):
        planned(0.999, -0.05)


def test_without_a_goal_of_accuracy_nothing_is_trained() -> None:
    world = goal_world(4, 1, 12, 2, {"make_best": "accuracy", "fleet_energy_J": 0.1})
    known = with_proxy(goal_estimates(world, 2))
    trained = MadeUpTrainings(known)
    plan_for_goals(world, known, effort=Effort(1.0), rehearsing=trained)
    assert trained.calls == []


def test_streams_have_come_as_far_as_times_say() -> None:
    plan, trained = planned(REACHED, 0.0)
    world: World = plan.world
    progress = next(seen for count, seen in reversed(trained.calls) if count == len(plan.schedule))
    assert len(progress.of_jobs) == len(plan.schedule)
    window_s = float(world.devices.window_s.max())
    assert (progress.of_jobs <= plan.timeline.end_s.max() / window_s).all()
    assert progress.of_tests[-1] == pytest.approx(jobs(plan).horizon_s / window_s)


def test_the_same_goals_give_the_same_rehearsed_plan() -> None:
    assert plan_bytes(planned(REACHED, -0.01)[0]) == plan_bytes(planned(REACHED, -0.01)[0])


def test_when_the_time_is_over_the_plan_is_as_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that goes on by a second whenever it is looked at."""
    clock = itertools.count()
    monkeypatch.setattr(effort_module, "time", SimpleNamespace(monotonic=lambda: float(next(clock))))
    plan, trained = planned(REACHED, 0.0, effort=1e6, limit_s=LIMIT_S)
    assert plan.status is PlanStatus.CUT_OFF
    assert trained.calls == []
    assert "rehearsed" not in plan.constants["goals"]


@pytest.mark.parametrize(("seed", "off"), [(8103, 0.05), (8105, -0.02), (8110, 0.3)])
def test_random_goals_end_in_a_plan_or_a_named_contradiction(seed: int, off: float) -> None:
    assert random_goals(seed).outcome(effort=0.5, off=off)
