"""`auto`, `exhaustive`, bounds and revisions on small problems."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from dmafl.base.errors import BadInput
from dmafl.planning.decision import jobs_from, times_of
from dmafl.planning.effort import Effort
from dmafl.planning.infeasible import Infeasible
from dmafl.planning.loss_models.calibrated import CONCENTRATION, Calibrated
from dmafl.planning.lower_bound import lower_bound
from dmafl.planning.problem import TaskProblem, make_problem
from dmafl.planning.replan import State, replan, state_of
from dmafl.planning.resources.best_resources import solve_resources
from dmafl.planning.search.auto import auto
from dmafl.planning.search.descent import middling
from dmafl.planning.solve import solve
from dmafl.theory.label_mix import LabelMix
from support.plan_rules import broken_rules
from support.synthetic_problems import synthetic_estimates, synthetic_problem, synthetic_world

KINDS = [("calibrated", "gram"), ("sharp", "diagonal")]


@pytest.mark.parametrize(("quality", "dissimilarity"), KINDS)
def test_auto_is_as_good_as_all_schedules(quality: str, dissimilarity: str) -> None:
    problem = synthetic_problem(2, 1, 3, 7, quality=quality, dissimilarity=dissimilarity)
    best = solve(problem, solver="exhaustive")
    found = solve(problem, effort=Effort(5))
    assert broken_rules(best) == broken_rules(found) == {}
    assert best.objective is not None and found.objective is not None
    assert found.objective <= best.objective * 1.005
    bound = lower_bound(problem)
    assert bound is not None and bound <= best.objective


@pytest.mark.parametrize(
    ("quality", "dissimilarity"), [*KINDS, ("calibrated", "diagonal"), ("printed", "diagonal")]
)
def test_plans_are_executable_whole_and_above_the_bound(quality: str, dissimilarity: str) -> None:
    problem = synthetic_problem(5, 2, 8, 3, quality=quality, dissimilarity=dissimilarity)
    plan = solve(problem, effort=Effort(4))
    assert broken_rules(plan) == {}
    assert (plan.schedule.steps == np.round(plan.schedule.steps)).all()
    assert (plan.schedule.batch == np.round(plan.schedule.batch)).all()

    def cost(task: TaskProblem, terms: Mapping[str, float]) -> float:
        device_J, station_J = terms["uplink_J"] + terms["compute_J"], terms["downlink_J"]
        energy = task.price_of_J * (problem.c2 * device_J + problem.c3 * station_J)
        return task.weight * terms["quality"] + energy

    bound = lower_bound(problem)
    assert (bound is None) == (quality == "printed")
    assert plan.objective is not None
    assert plan.objective == pytest.approx(sum(cost(task, plan.terms[task.name]) for task in problem.tasks))
    assert bound is None or 0.5 * plan.objective < bound <= plan.objective


def test_the_same_seed_gives_the_same_plan() -> None:
    """Without a time limit that cuts it short."""
    problem = synthetic_problem(3, 1, 5, 2)
    first, second = (auto(problem, Effort(60.0), seed=1) for _ in range(2))
    for a, b in zip(first.decisions, second.decisions, strict=True):
        for name in ("device", "version", "steps", "batch", "frequency_Hz"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def test_a_revised_plan_keeps_what_has_happened_and_is_no_worse() -> None:
    world = synthetic_world(5, 2, 10, 4)
    estimates = synthetic_estimates(world, 4)
    plan = solve(make_problem(world, estimates), effort=Effort(4))
    now_s = float(np.median(plan.timeline.end_s))
    state = state_of(plan.schedule, world, now_s)
    assert 0 < len(state.jobs) < len(plan.schedule)
    assert (plan.schedule.start_s <= now_s).sum() == (state.jobs.start_s <= now_s).sum(), (
        "what was begun stays"
    )
    revised = replan(plan, state, estimates, effort=4)
    assert broken_rules(revised) == {}
    assert plan.objective is not None and revised.objective is not None
    assert revised.objective <= plan.objective * (1 + 1e-9)
    for j in range(2):
        before = state.jobs.take(state.jobs.task == j)
        after = revised.schedule.take(revised.schedule.task == j)
        for name in ("device", "version", "slot", "steps", "batch", "frequency_Hz", "start_s"):
            kept = getattr(after, name)[: len(before)]
            np.testing.assert_allclose(kept, getattr(before, name)[np.argsort(before.slot)], err_msg=name)
        assert (after.start_s[len(before) :] >= now_s - 1e-9).all()


def test_a_prediction_that_does_not_weigh_balance_is_not_left_with_a_stale_order() -> None:
    """With labels as all that tells devices apart, cheap orders are one-sided, and only stale ones spread the work."""
    problem = synthetic_problem(8, 1, 40, 1, exchange=1.0)
    (task,) = problem.tasks
    assert isinstance(task.loss_model, Calibrated)
    calibration = task.loss_model.calibration
    weights = replace(calibration.weights, gram_bias=0.0, label_bias=3.0)
    quality = replace(
        task.loss_model,
        calibration=replace(calibration, weights=weights, response=10.0),
        labels=LabelMix(np.eye(8), np.ones(8)),  # one label a device
        concentration=0.0,
    )
    problem = replace(problem, tasks=(replace(task, loss_model=quality),))
    in_turn = solve_resources(problem, [middling(task, np.arange(40) % 8, np.arange(40))])
    # With the cheap order alone to begin with, it ended 1.2% worse than devices in turn.
    assert auto(problem, Effort(8.0)).objective <= in_turn.objective


def test_few_devices_cost_something() -> None:
    problem = synthetic_problem(4, 1, 12, 1)
    (task,) = problem.tasks
    even, alone = (
        task.loss_model.terms(jobs_from(problem, task, decision, times_of(task, decision)))["concentration"]
        for decision in (
            middling(task, np.arange(12) % 4, np.arange(12)),
            middling(task, np.zeros(12, dtype=np.int64), np.arange(12)),
        )
    )
    assert alone == pytest.approx(CONCENTRATION * 0.75)
    assert 0 <= even < 0.3 * alone


def test_a_participation_floor_is_kept() -> None:
    world = synthetic_world(4, 1, 16, 1)
    estimates = synthetic_estimates(world, 1)
    plan = solve(make_problem(world, estimates, participation=1.0), effort=Effort(4))
    assert np.bincount(plan.schedule.device, minlength=4).min() >= 4


@pytest.mark.parametrize(
    ("settings", "name", "remedy"),
    [
        ({"window_s": 0.05}, "tasks.task_0.window_s", "Raise window_s to"),
        ({"steps_min": 40, "batch_min": 64}, "fleet.battery_J", "Raise battery_J"),
    ],
)
def test_what_cannot_be_is_named_with_what_would_help(
    settings: dict[str, object], name: str, remedy: str
) -> None:
    world = synthetic_world(3, 1, 6, 0, **settings)
    if name == "fleet.battery_J":
        fleet = world.scenario.fleet.model_copy(
            update={"battery_J": type(world.scenario.fleet.battery_J)("constant", (1e-3,))}
        )
        from dmafl.world.world import World

        world = World.resolve(world.scenario.model_copy(update={"fleet": fleet}))
    with pytest.raises(Infeasible) as caught:
        solve(make_problem(world, synthetic_estimates(world, 0)), effort=Effort(2))
    assert caught.value.problems[0].name == name
    assert remedy in caught.value.problems[0].remedy


def test_the_remedy_for_a_window_is_enough() -> None:
    world = synthetic_world(3, 1, 6, 0, window_s=0.05)
    with pytest.raises(Infeasible) as caught:
        solve(make_problem(world, synthetic_estimates(world, 0)), effort=Effort(2))
    needed = float(caught.value.problems[0].remedy.split("Raise window_s to ")[1].split(" s")[0])
    wider = synthetic_world(3, 1, 6, 0, window_s=needed)
    plan = solve(make_problem(wider, synthetic_estimates(wider, 0)), effort=Effort(2))
    assert broken_rules(plan) == {}
    assert plan.timeline.end_s.max() <= needed


def test_unknown_solvers_and_qualities_are_refused() -> None:
    problem = synthetic_problem(3, 1, 4, 0)
    with pytest.raises(BadInput, match="must be one of auto"):
        solve(problem, solver="magic")
    with pytest.raises(BadInput, match="must be one of calibrated"):
        synthetic_problem(3, 1, 4, 0, quality="nice")
    with pytest.raises(BadInput, match="at most"):
        solve(synthetic_problem(10, 1, 30, 0), solver="exhaustive")


def test_a_task_of_which_nothing_has_begun_does_not_begin_before_now() -> None:
    problem = synthetic_problem(5, 2, 10, 3)
    schedule = solve(problem, effort=Effort(1)).schedule
    now_s = float(np.sort(schedule.start_s[schedule.task == 0])[4])
    state = State(now_s, schedule.take((schedule.task == 0) & (schedule.start_s <= now_s)))
    revised = replan(
        solve(problem, effort=Effort(1)), state, synthetic_estimates(problem.world, 3), effort=1.0
    )
    assert broken_rules(revised) == {}
    assert revised.schedule.start_s[revised.schedule.task == 1].min() >= now_s * (1 - 1e-12)
