"""Plans for goals: what is asked for is reached within the limits, at a cost near that of a search over everything."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dmafl.base.errors import BadInput
from dmafl.planning import effort as effort_module
from dmafl.planning.effort import Effort
from dmafl.planning.goals.plan_for_goals import plan_for_goals
from dmafl.planning.goals.trials import with_slots
from dmafl.planning.infeasible import Infeasible
from dmafl.planning.problem import make_problem
from dmafl.planning.replan import replan, state_of
from dmafl.planning.solve import solve
from dmafl.schedule.plan import Plan
from dmafl.schedule.plan_files import plan_bytes
from dmafl.schedule.plan_status import PlanStatus
from dmafl.world.world import World
from support.goal_problems import broken_goals, goal_estimates, goal_world, random_goals
from support.plan_rules import broken_rules
from support.synthetic_problems import synthetic_world

EFFORT = 3.0
NEAR_BEST = 1.1
"""A plan for goals against the best of all numbers of aggregations and a fine grid of prices, each with more effort."""
NOISE = 1.06
"""Local searches of neighbouring problems end this far apart."""


KEPT: dict[tuple[str, float], Plan] = {}
"""Plans of `_shared`, by their scenario and effort."""


def _shared(world: World, effort: float = EFFORT) -> Plan:
    """The plan that another test has made of the same world already, or now: the same goals give the same plan."""
    key = (repr(world.scenario.plain()), effort)
    if key not in KEPT:
        KEPT[key] = _plan(world, effort)
    return KEPT[key]


def _plan(world: World, effort: float = EFFORT, seed: int = 1, **settings: Any) -> Plan:
    known = goal_estimates(world, seed)
    plan = plan_for_goals(world, known, effort=Effort(effort), **settings)
    assert broken_rules(plan) == {}
    assert broken_goals(plan, known) == []
    return plan


def _energy(plan: Plan) -> float:
    return float((plan.timeline.uplink_J + plan.timeline.compute_J + plan.timeline.downlink_J).sum())


@pytest.mark.parametrize(("accuracy", "slots"), [(0.45, 4), (0.55, 6)])
def test_energy_is_near_that_of_all_numbers_and_prices(accuracy: float, slots: int) -> None:
    world = goal_world(3, 1, slots, 1, {"accuracy": accuracy})
    known = goal_estimates(world, 1)
    found = _energy(_plan(world))
    best = np.inf
    for count in range(1, slots + 1):
        problem = make_problem(with_slots(world, {"task_0": count}), known)
        for price in np.geomspace(1e-3, 1e2, 16):
            priced = replace(problem, tasks=(replace(problem.tasks[0], weight=float(price)),))
            plan = solve(priced, effort=Effort(0.2))
            if not broken_goals(plan, known):
                best = min(best, _energy(plan))
    assert np.isfinite(best)
    assert found <= NEAR_BEST * best


def test_a_higher_goal_costs_more_energy() -> None:
    energies = [
        _energy(_shared(goal_world(5, 1, 30, 1, {"accuracy": goal}))) for goal in (0.5, 0.6, 0.7, 0.76)
    ]
    assert all(before < after * NOISE for before, after in pairwise(energies))
    assert energies[0] * 2 < energies[-1]


def test_more_confidence_costs_more_energy() -> None:
    energies = [
        _energy(_shared(goal_world(5, 1, 30, 1, {"accuracy": 0.7, "confidence": share})))
        for share in (0.2, 0.5, 0.9)
    ]
    assert energies[0] < energies[1] * NOISE and energies[1] < energies[2] * NOISE
    assert energies[0] < energies[2]


def test_a_looser_limit_is_never_worse() -> None:
    energies = [
        _energy(_shared(goal_world(5, 1, 30, 1, {"accuracy": 0.65, "deadline_s": limit})))
        for limit in (4.0, 12.0, 1e4)
    ]
    assert energies[2] < energies[1] * NOISE and energies[1] < energies[0] * NOISE
    losses = [
        _plan(goal_world(5, 1, 30, 1, {"make_best": "accuracy", "fleet_energy_J": limit}))
        .predicted["task_0"]
        .loss
        for limit in (0.02, 0.06, 0.3)
    ]
    assert losses[2] < losses[1] < losses[0]


def test_a_plan_is_not_needlessly_better_than_its_goal() -> None:
    plan = _shared(goal_world(5, 1, 30, 1, {"accuracy": 0.7}))
    wanted = plan.constants["goals"]["largest_error"]["task_0"]
    assert 0.9 * wanted < plan.predicted["task_0"].loss <= wanted


@pytest.mark.parametrize(
    "limits",
    [
        {"device_energy_J": 0.012},
        {"fleet_energy_J": 0.05},
        {"station_energy_J": 0.12},
        {"deadline_s": 6.0},
        {"device_energy_J": 0.02, "deadline_s": 20.0, "fleet_energy_J": 0.06},
    ],
)
def test_limits_hold_that_a_plan_without_them_would_break(limits: dict[str, float]) -> None:
    free = _shared(goal_world(5, 1, 30, 1, {"accuracy": 0.7}))
    assert free.world.scenario.tasks["task_0"].slots < 30
    _plan(goal_world(5, 1, 30, 1, {"accuracy": 0.68, **limits}), effort=8.0)


def test_tasks_share_batteries_and_each_has_its_goal() -> None:
    goals = {"accuracy": {"task_0": 0.65}, "loss": {"task_1": 1.1}, "device_energy_J": 0.03}
    plan = _plan(goal_world(5, 2, 20, 1, goals), effort=8.0)
    decided = plan.world.scenario.goals.decided
    assert decided is not None
    assert decided.slots == {"task_0": 20, "task_1": 20}
    assert all(task.slots <= 20 for task in plan.world.scenario.tasks.values())


def test_the_quickest_plan_ends_sooner_than_the_cheapest() -> None:
    cheap, quick = (
        _plan(goal_world(5, 1, 30, 1, {"accuracy": 0.6, "make_best": best}), effort=8.0)
        for best in ("energy", "time")
    )
    assert quick.timeline.end_s.max() < 0.5 * cheap.timeline.end_s.max()
    assert _energy(cheap) < _energy(quick)


def test_the_file_of_a_plan_says_what_was_found() -> None:
    world = goal_world(4, 1, 16, 1, {"accuracy": 0.6})
    plan = _shared(world)
    decided, found = plan.world.scenario.goals.decided, plan.constants["goals"]
    assert decided is not None
    assert plan.world.scenario.as_asked == world.scenario
    assert found["loss_price_J"] == {"task_0": decided.loss_price_J.of("task_0")}
    assert found["allowed_slots"] == {"task_0": 16}
    assert plan.predicted["task_0"].accuracy >= 0.6


def test_the_same_goals_give_the_same_plan() -> None:
    world = goal_world(4, 2, 16, 1, {"accuracy": 0.55})
    assert plan_bytes(_plan(world)) == plan_bytes(_plan(world))


def test_a_time_limit_still_gives_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that goes on by a second whenever it is looked at, so that the machine's load does not matter."""
    clock = itertools.count()
    monkeypatch.setattr(effort_module, "time", SimpleNamespace(monotonic=lambda: float(next(clock))))
    world = goal_world(6, 2, 60, 1, {"accuracy": 0.6})
    known = goal_estimates(world, 1)
    plan = plan_for_goals(world, known, effort=Effort(1e6, time_limit_s=8000.0))
    assert plan.status is PlanStatus.CUT_OFF
    assert broken_goals(plan, known) == []


def test_a_decided_scenario_is_planned_with_what_was_found() -> None:
    plan = _shared(goal_world(4, 1, 16, 1, {"accuracy": 0.6}))
    known = goal_estimates(plan.world, 1)
    problem, decided = make_problem(plan.world, known), plan.world.scenario.goals.decided
    assert decided is not None
    assert problem.tasks[0].weight == decided.loss_price_J.of("task_0")
    assert problem.tasks[0].price_of_J == plan.world.scenario.tasks["task_0"].energy_weight
    revised = replan(plan, state_of(plan.schedule, plan.world, 0.0), known, effort=1.0)
    assert revised.world.scenario == plan.world.scenario
    assert revised.objective is not None and plan.objective is not None
    assert revised.objective <= plan.objective * (1 + 1e-9)


def test_without_goals_the_problem_is_the_papers() -> None:
    world = synthetic_world(4, 2, 6, seed=3)
    problem, objective = make_problem(world, goal_estimates(world, 3)), world.scenario.objective
    assert (problem.c2, problem.c3) == (objective.device_energy_weight, objective.station_energy_weight)
    for number, task in enumerate(problem.tasks):
        assert task.weight == objective.quality_weight_calibrated * task.settings.importance
        assert task.price_of_J == task.settings.energy_weight / task.slots
        assert (task.window_s == world.devices.window_s[:, number]).all()
    assert problem.world is world


def test_an_accuracy_needs_constants_that_know_accuracies() -> None:
    world = goal_world(3, 1, 4, 1, {"accuracy": 0.5})
    known = goal_estimates(world, 1)
    calibration = known["task_0"].calibration
    assert calibration is not None
    blind = {"task_0": replace(known["task_0"], calibration=replace(calibration, accuracy=None))}
    with pytest.raises(BadInput, match="Measure again"):
        plan_for_goals(world, blind, effort=Effort(1.0))
    unprobed = {"task_0": replace(known["task_0"], calibration=None)}
    with pytest.raises(BadInput, match="probes"):
        plan_for_goals(world, unprobed, effort=Effort(1.0), quality="sharp")


def test_an_accuracy_beyond_all_errors_is_refused_with_the_best() -> None:
    with pytest.raises(Infeasible, match=r"the best is 0\.99.*[Ll]ower it to 0\.99"):
        _plan(goal_world(3, 1, 4, 1, {"accuracy": 1.0}))


REMEDIES = {
    "accuracy": r"lower the goal to ([0-9.]+[0-9])",
    "confidence": r"lower confidence to ([0-9.]+[0-9])",
    "device_energy_J": r"aise device_energy_J to ([0-9.e-]+) J",
    "deadline_s": r"aise deadline_s to ([0-9.e-]+) s",
    "fleet_energy_J": r"aise fleet_energy_J to ([0-9.e-]+) J",
    "station_energy_J": r"aise station_energy_J to ([0-9.e-]+) J",
}


@pytest.mark.parametrize(
    ("limit", "value", "needed"),
    [
        ("device_energy_J", 0.004, ["accuracy", "device_energy_J"]),
        ("deadline_s", 0.4, ["accuracy", "deadline_s"]),
        ("fleet_energy_J", 0.01, ["fleet_energy_J"]),
        ("station_energy_J", 0.02, ["station_energy_J"]),
    ],
)
def test_following_any_remedy_gives_a_plan(limit: str, value: float, needed: list[str]) -> None:
    goals: dict[str, Any] = {"accuracy": 0.68, limit: value}
    with pytest.raises(Infeasible) as refused:
        _plan(goal_world(5, 1, 30, 1, goals), effort=8.0)
    text = str(refused.value)
    offered = {key: match for key, pattern in REMEDIES.items() if (match := re.search(pattern, text))}
    assert set(needed) <= set(offered), text
    for key, match in offered.items():
        _plan(goal_world(5, 1, 30, 1, goals | {key: float(match[1])}), effort=8.0)


def test_more_slots_are_offered_where_they_help() -> None:
    with pytest.raises(Infeasible) as refused:
        _plan(goal_world(5, 1, 4, 1, {"accuracy": 0.72}), effort=8.0)
    slots = re.search(r"tasks\.task_0\.slots to (\d+)", str(refused.value))
    assert slots is not None, refused.value
    _plan(goal_world(5, 1, int(slots[1]), 1, {"accuracy": 0.72}), effort=8.0)


@pytest.mark.parametrize("seed", range(8000, 8017))
def test_random_goals_end_in_a_plan_or_a_named_contradiction(seed: int) -> None:
    assert random_goals(seed).outcome(effort=0.5)
