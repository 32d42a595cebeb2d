"""Effort is counted, so that plans do not depend on the clock; a time limit is kept by every solver, and told of."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dmafl.base.errors import BadInput
from dmafl.planning.effort import CutOff, Effort
from dmafl.planning.effort_costs import WEIGHTS, Work
from dmafl.planning.infeasible import Infeasible
from dmafl.planning.replan import replan, state_of
from dmafl.planning.solve import problem_in_time, solve
from dmafl.schedule.plan import Plan
from dmafl.schedule.plan_status import PlanStatus
from dmafl.schemes.registry import scheme_named
from dmafl.schemes.scheme import SchemeContext
from support.plan_rules import broken_rules
from support.synthetic_problems import synthetic_estimates, synthetic_problem, synthetic_world

CLOCKS = ("monotonic", "perf_counter", "process_time", "thread_time", "time")
OVERRUN_S = 1.0
"""What a cut-off may be overrun by, in CPU seconds: tests run on machines that do other work too."""


def same(a: Plan, b: Plan) -> bool:
    """Whether two plans agree to the last bit."""
    one, other = (plan.schedule.columns() for plan in (a, b))
    return all((one[name] == other[name]).all() for name in one) and a.objective == b.objective


@pytest.fixture
def mad_clocks(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Makes every clock jump by random amounts, up to minutes at a time."""

    def go_mad(seed: int) -> None:
        chance, now = random.Random(seed), [1e6]

        def clock() -> float:
            now[0] += chance.choice((0.0, 1e-3, 1.0, 300.0))
            return now[0]

        for name in CLOCKS:
            monkeypatch.setattr(time, name, clock)

    return go_mad


@pytest.mark.parametrize("quality", ["calibrated", "sharp"])
def test_no_clock_changes_a_plan(quality: str, mad_clocks: Callable[[int], None]) -> None:
    """An effort so small that it ends the search in the middle."""
    problem = synthetic_problem(6, 2, 12, 3, quality=quality)
    plans = [solve(problem, effort=Effort(0.4))]
    for seed in (1, 2):
        mad_clocks(seed)
        effort = Effort(0.4)
        plans.append(solve(problem, effort=effort))
        assert not effort.leaves() and not effort.cut_off
    assert all(same(plan, plans[0]) and plan.status is PlanStatus.EXECUTABLE for plan in plans)


def test_no_clock_changes_plans_of_schemes_and_revisions(mad_clocks: Callable[[int], None]) -> None:
    """Plans that runs make for themselves: after a crash they are made again, and must be the same."""
    world = synthetic_world(5, 1, 10, 0, window_s=100.0)
    roomy = replace(world.devices, battery_J=100.0 * world.devices.battery_J)  # drawn resources need more
    world = replace(world, devices=roomy)
    estimates = synthetic_estimates(world, 0)

    context = SchemeContext(world, effort=0.3, estimates=lambda: estimates)

    def made() -> list[Plan]:
        plans = [
            plan
            for scheme in ("dma-fl", "dma-fl-nr", "dma-fl-ns")
            if (plan := scheme_named(scheme).plan(context)) is not None
        ]
        half = state_of(plans[0].schedule, world, 0.5 * float(plans[0].timeline.end_s.max()))
        return [*plans, replan(plans[0], half, estimates, effort=0.3)]

    before = made()
    mad_clocks(5)
    assert len(before) == 4
    assert all(same(a, b) for a, b in zip(before, made(), strict=True))


def test_more_effort_is_no_worse_and_is_spent() -> None:
    problem = synthetic_problem(6, 2, 12, 3)
    efforts = [Effort(amount) for amount in (0.2, 1.0)]
    little, much = (solve(problem, effort=effort) for effort in efforts)
    assert little.objective is not None and much.objective is not None
    assert much.objective < little.objective
    assert 0.2 <= efforts[0].used < efforts[1].used


def test_every_kind_of_work_has_a_weight() -> None:
    assert set(WEIGHTS) == {
        (work, quality) for work in Work for quality in ("calibrated", "sharp", "printed")
    }
    assert all(weight[0] > 0 and min(weight) >= 0 for weight in WEIGHTS.values())


def test_the_page_has_the_weights() -> None:
    page = (Path(__file__).parents[2] / "docs" / "planner-inside.md").read_text(encoding="utf-8")
    for work in Work:
        call, slot, item = WEIGHTS[work, "calibrated"]
        assert f"| {work.value} | {call:g} | {slot:g} | {item:g} |" in page


def test_a_time_limit_that_is_not_reached_changes_nothing() -> None:
    problem = synthetic_problem(5, 1, 8, 0, quality="sharp")
    free, limited = (solve(problem, effort=Effort(0.3, limit)) for limit in (None, 3600.0))
    assert same(free, limited) and limited.status is PlanStatus.EXECUTABLE


@pytest.mark.parametrize("solver", ["auto", "sca", "exhaustive"])
@pytest.mark.parametrize("quality", ["calibrated", "sharp", "printed"])
def test_solvers_end_at_a_time_limit_and_say_so(
    solver: str, quality: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "monotonic", time.process_time)
    size = (3, 1, 4) if solver == "exhaustive" else (20, 2, 40)
    problem = synthetic_problem(*size, 0, quality=quality)
    begun = time.process_time()
    plan = solve(problem, solver=solver, effort=Effort(1e6, limit := 0.25))
    assert time.process_time() - begun < limit + OVERRUN_S
    assert broken_rules(plan) == {}
    assert plan.status is PlanStatus.CUT_OFF, plan.status


def test_a_large_problem_ends_at_its_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", time.process_time)
    world = synthetic_world(600, 2, 500, 0)
    estimates, begun = synthetic_estimates(world, 0), time.process_time()
    effort = Effort(30.0, 3.0)
    plan = solve(problem_in_time(effort, world, estimates), effort=effort)
    assert time.process_time() - begun < 3.0 + OVERRUN_S
    assert broken_rules(plan) == {}
    assert plan.status is PlanStatus.CUT_OFF


def test_too_little_time_for_any_plan_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = synthetic_problem(4, 1, 6, 0, quality="sharp")
    ticks = iter(range(10**9))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(ticks)))
    with pytest.raises(Infeasible, match=r"time_limit_s.*none after 0.5 s.*Raise --time-limit"):
        solve(problem, effort=Effort(1.0, 0.5))


def test_the_making_of_a_problem_obeys_the_limit_too(monkeypatch: pytest.MonkeyPatch) -> None:
    world = synthetic_world(4, 1, 6, 0)
    ticks = iter(range(10**9))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(ticks)))
    with pytest.raises(Infeasible, match="time_limit_s"):
        problem_in_time(Effort(1.0, 0.5), world, synthetic_estimates(world, 0))


def test_parts_of_an_effort_share_its_count() -> None:
    effort = Effort(1.0)
    part = effort.part(0.25)
    while part.leaves():
        part.spend(Work.EVALUATION, "sharp", 100)
    assert effort.used == part.used >= 0.25
    assert effort.leaves(0.5) and not effort.leaves(0.8)
    with pytest.raises(CutOff):
        Effort(1.0, 1e-9).spend(Work.EVALUATION, "sharp", 100)


@pytest.mark.parametrize(("amount", "limit"), [(0.0, None), (-1.0, None), (float("nan"), None), (1.0, 0.0)])
def test_refused(amount: float, limit: float | None) -> None:
    with pytest.raises(BadInput, match="must be > 0"):
        Effort(amount, limit)
