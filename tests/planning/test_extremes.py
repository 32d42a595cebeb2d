"""Weights of 0, tables too large, orders that do not end: a plan, or a refusal with a name."""

from pathlib import Path

import numpy as np
import pytest

from dmafl.base.errors import BadInput
from dmafl.planning.infeasibility import certain_infeasibility
from dmafl.planning.infeasible import Infeasible
from dmafl.planning.problem import make_problem
from dmafl.planning.search.half_given import resources_for
from dmafl.scenario.toml import from_plain
from dmafl.schedule.jobs import Schedule
from dmafl.world.world import World
from support.extremes import must_be_sound, plan_quickly, put, usual
from support.synthetic_problems import synthetic_estimates, synthetic_problem, synthetic_world


def problem_with(case: int = 0, **changes: float):
    plain = usual(2)
    for key, value in changes.items():
        put(plain, key.replace("__", "."), value)
    world = World.resolve(from_plain(plain))
    return make_problem(world, synthetic_estimates(world, case))


def test_windows_are_met_where_energy_costs_nothing(tmp_path: Path) -> None:
    """The price of time began at the price of energy: the logarithm of 0."""
    plain = synthetic_world(3, 2, 6, 0).scenario.plain()
    for key in ("device_energy_weight", "station_energy_weight"):
        put(plain, f"objective.{key}", 0.0)
    world = World.resolve(from_plain(plain))
    must_be_sound(plan_quickly(make_problem(world, synthetic_estimates(world, 0))), tmp_path)


def test_time_at_a_price_and_energy_at_none_do_not_overflow(tmp_path: Path) -> None:
    problem = problem_with(tasks__NAME__energy_weight=0.0, tasks__NAME__learning_rate=1e-12)
    must_be_sound(plan_quickly(problem), tmp_path)


WEIGHTS = ("device_energy_weight", "station_energy_weight", "quality_weight_calibrated")


def test_without_any_weight_there_is_a_plan(tmp_path: Path) -> None:
    must_be_sound(plan_quickly(problem_with(**{f"objective__{name}": 0.0 for name in WEIGHTS})), tmp_path)


def test_a_dead_channel_is_named_and_the_remedy_is_possible() -> None:
    problem = problem_with(channel__kind="fixed", channel__uplink_gain=1e-30)
    (first, *_) = certain_infeasibility(problem)
    assert first.name == "tasks.task_0.window_s"
    assert "raise bandwidths" in first.remedy
    with pytest.raises(Infeasible):
        plan_quickly(problem)


def test_tables_that_do_not_fit_in_memory_are_refused() -> None:
    plain = usual()
    for key, value in {"slots": 1_000_000, "max_staleness": 1_000_000}.items():
        put(plain, f"tasks.NAME.{key}", value)
    world = World.resolve(from_plain(plain))
    with pytest.raises(BadInput, match="max_staleness"):
        make_problem(world, {})
    put(plain, "tasks.NAME.max_staleness", 0)
    put(plain, "fleet.devices", 100)
    with pytest.raises(BadInput, match=r"task_0\.slots"):
        make_problem(World.resolve(from_plain(plain)), {})


def test_an_order_that_does_not_complete_its_slots_is_refused() -> None:
    problem = synthetic_problem(3, 1, 6, 0)
    whole = plan_quickly(problem).schedule
    for count in (0, 3):
        cut = Schedule.from_columns({name: column[:count] for name, column in whole.columns().items()})
        with pytest.raises(Infeasible, match=f"got {count} of them"):
            resources_for(problem, cut)


def test_restarts_of_the_search_for_a_price_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A window that is met at every price and missed at none: the search began anew for ever."""
    from dmafl.planning.search import descent

    problem = synthetic_problem(3, 1, 6, 0)
    search = descent.BlockDescent(problem, problem.tasks[0], 1, np.zeros(3))
    asked = []

    def late_s(task, decision, times=None):
        asked.append(search.window_price)
        return 1.0 if search.window_price == 0.0 else -1e6

    monkeypatch.setattr(descent, "late_s", late_s)
    search._start()
    assert len(asked) < 2 * descent.MOST_RESTARTS * (descent.HALVINGS + 2)
