"""A price of time: the objective by hand, solvers that agree on it, plans that are faster for it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmafl
from dmafl.planning.batched_costs import costs_of
from dmafl.planning.decision import cost_of, jobs_from, times_of
from dmafl.planning.effort import Effort
from dmafl.planning.lower_bound import lower_bound
from dmafl.planning.objective import evaluate
from dmafl.planning.placement import place_jobs
from dmafl.planning.problem import Problem
from dmafl.planning.replan import decisions_of, state_of, with_past
from dmafl.planning.resources.best_resources import solve_resources
from dmafl.planning.sca.relaxation import first_point, relax
from dmafl.planning.search.descent import BlockDescent
from dmafl.planning.solve import solve
from dmafl.schedule.plan import Plan
from reference.ipopt_resources import Model, smooth
from support.decisions import devices_in_turn, random_decision
from support.plan_rules import broken_rules
from support.synthetic_problems import synthetic_problem

QUALITIES = ["calibrated", "sharp", "printed"]
PRICES_W = [0.0, 0.01, 0.1, 1.0]
ROOMY_S = 1e4
"""A window that never binds."""
ROUNDING = 1e-9
AGREEMENT = 1e-5
"""Relative difference to IPOPT in the objective."""
FLAT = 1e-3
"""Relative error of a frequency: a cost that is known to 1e-7 is flat around its minimum."""
GAP = 0.02
"""How far above the best a plan of the search may be at these sizes and efforts, relative to its objective."""


def ends_s(plan: Plan) -> list[float]:
    """When the last upload of each task ends."""
    tasks = range(plan.world.task_count)
    return [float(plan.timeline.end_s[plan.schedule.task == j].max()) for j in tasks]


def seconds_priced(problem: Problem, plan: Plan) -> float:
    """What the objective charges for the time of a plan at one watt."""
    pairs = zip(problem.tasks, ends_s(plan), strict=True)
    return sum(task.price_of_J * end_s for task, end_s in pairs)


def test_the_objective_by_hand() -> None:
    """Two fresh slots of weight 3: a second costs 0.5 W times 3 / 2."""
    free, priced = (
        synthetic_problem(1, 1, 2, 0, energy_weight=3.0, window_s=ROOMY_S, time_price_W=price_W)
        for price_W in (0.0, 0.5)
    )
    task, decision = priced.tasks[0], devices_in_turn(priced, 0)[0]
    computing_s = 2 * task.cycles[0] * 8.0 * 16.0 / task.highest_Hz[0]
    end_s = computing_s + float(task.download_s[0].sum() + task.upload_s[0].sum())
    schedule = place_jobs(priced, [decision])
    found, without = evaluate(priced, schedule), evaluate(free, schedule)
    assert found.terms["task_0"].pop("time_s") == pytest.approx(end_s, rel=ROUNDING)
    assert found.terms == without.terms
    assert found.objective - without.objective == pytest.approx(0.75 * end_s, rel=ROUNDING)
    assert cost_of(priced, task, decision).time == pytest.approx(0.75 * end_s, rel=ROUNDING)


@pytest.mark.parametrize("quality", QUALITIES)
@pytest.mark.parametrize("in_flight", [1, 3])
def test_every_way_to_compute_the_objective_agrees(in_flight: int, quality: str) -> None:
    problem = synthetic_problem(6, 2, 12, 5, quality=quality, exchange=0.5, time_price_W=0.3)
    decisions = [random_decision(problem, task, 5, in_flight) for task in problem.tasks]
    costs = [cost_of(problem, task, one) for task, one in zip(problem.tasks, decisions, strict=True)]
    assert all(cost.time > 0 for cost in costs)
    total = sum(cost.total for cost in costs)
    assert evaluate(problem, place_jobs(problem, decisions)).objective == pytest.approx(total, rel=ROUNDING)
    for task, decision, cost in zip(problem.tasks, decisions, costs, strict=True):
        other = random_decision(problem, task, 6, in_flight)
        found = costs_of(problem, task, [other, decision]).total[1]
        assert found == pytest.approx(cost.total, rel=ROUNDING)


def test_time_without_end_costs_nothing_where_it_is_free() -> None:
    task = synthetic_problem(2, 1, 3, 0).tasks[0]
    assert task.time_cost(np.asarray([1.0, np.inf])) == 0.0


@pytest.mark.parametrize("quality", QUALITIES)
def test_the_relaxed_objective_has_the_price_on_the_last_end(quality: str) -> None:
    objectives = []
    for price_W in (0.0, 0.3):
        problem = synthetic_problem(3, 2, 5, 1, quality=quality, time_price_W=price_W)
        relaxed = relax(problem)
        v = first_point(relaxed, 0)
        objectives.append(relaxed.objective(v))
    (free, free_slope), (priced, priced_slope) = objectives
    wanted = np.zeros(len(v))
    for task in relaxed.tasks:
        wanted[task.at["end"].stop - 1] = task.task.price_of_s * task.unit_s
    np.testing.assert_allclose(priced_slope - free_slope, wanted, rtol=1e-6, atol=1e-12)
    assert priced - free == pytest.approx(float(wanted @ v), rel=1e-6)


@pytest.mark.parametrize("price_W", [1e-6, 0.02, 0.1, 100.0])
def test_the_best_frequency_of_one_job(price_W: float) -> None:
    """W c e B / f + c_2 xi c e B f^2 is smallest at f = (W / 2 c_2 xi)^(1/3), within what the CPU can do."""
    same = {"steps_min": 8, "steps_max": 8, "batch_min": 16, "batch_max": 16}
    problem = _still(synthetic_problem(1, 1, 1, 0, window_s=ROOMY_S, time_price_W=price_W, **same))
    task = problem.tasks[0]
    xi = float(problem.world.devices.capacitance_Js2[0])
    by_hand = float(np.clip(np.cbrt(price_W / (2 * problem.c2 * xi)), task.lowest_Hz[0], task.highest_Hz[0]))
    found = solve_resources(problem, devices_in_turn(problem, 0))
    assert found.decisions[0].frequency_Hz[0] == pytest.approx(by_hand, rel=FLAT)
    start = devices_in_turn(problem, 0)[0]
    frequencies = np.linspace(task.lowest_Hz[0], task.highest_Hz[0], 400)
    costs = [
        cost_of(problem, task, start.with_(frequency_Hz=np.asarray([f]), steps=np.asarray([8.0]))).total
        for f in frequencies
    ]
    assert found.objective <= min(costs) * (1 + AGREEMENT)


def test_some_prices_ask_for_frequencies_between_the_limits() -> None:
    """Or the test above would only see clipped ones."""
    task_problem = synthetic_problem(1, 1, 1, 0)
    task, xi = task_problem.tasks[0], float(task_problem.world.devices.capacitance_Js2[0])
    best = np.cbrt(np.asarray([1e-6, 0.02, 0.1, 100.0]) / (2 * task_problem.c2 * xi))
    inside = (best > task.lowest_Hz[0]) & (best < task.highest_Hz[0])
    assert inside.tolist() == [False, True, True, False]


def _still(problem: Problem) -> Problem:
    """The same with data that do not change."""
    tasks = []
    for task in problem.tasks:
        model: Any = task.loss_model
        none = np.zeros(problem.devices)
        names = ("drift_idle", "drift_active", "drift_idle_size", "drift_active_size")
        constants = replace(model.constants, **dict.fromkeys(names, none))
        tasks.append(replace(task, loss_model=replace(model, constants=constants)))
    return replace(problem, tasks=tuple(tasks))


@pytest.mark.parametrize("price_W", [0.02, 0.1])
@pytest.mark.parametrize("in_flight", [1, 2])
def test_the_descent_answers_with_that_frequency(in_flight: int, price_W: float) -> None:
    """A second of one of n jobs in flight delays the end by an n-th of it."""
    problem = _still(synthetic_problem(3, 1, 4, 0, window_s=ROOMY_S, time_price_W=price_W))
    task, decision = problem.tasks[0], devices_in_turn(problem, in_flight - 1)[0]
    descent = BlockDescent(problem, task, in_flight, np.zeros(problem.devices))
    best = np.cbrt(price_W / in_flight / (2 * problem.c2 * problem.world.devices.capacitance_Js2))
    found = descent.costs(descent.jobs(decision)).frequency_Hz
    np.testing.assert_allclose(found, np.clip(best, task.lowest_Hz, task.highest_Hz), rtol=ROUNDING)
    assert (found > task.lowest_Hz).all()


@pytest.mark.parametrize(("quality", "dissimilarity"), [("calibrated", "gram"), ("sharp", "diagonal")])
@pytest.mark.parametrize(("stale", "price_W"), [(0, 0.05), (2, 0.05), (2, 1.0)])
def test_ipopt_agrees_on_the_best_resources(
    stale: int, price_W: float, quality: str, dissimilarity: str
) -> None:
    problem = smooth(
        synthetic_problem(3, 2, 6, 3, quality=quality, dissimilarity=dissimilarity, time_price_W=price_W)
    )
    found = solve_resources(problem, devices_in_turn(problem, stale))
    assert found.feasible
    pairs = list(zip(problem.tasks, found.decisions, strict=True))
    samples = [jobs_from(problem, task, one, times_of(task, one)).samples for task, one in pairs]
    reached = [Model(problem, found.decisions, samples).solve(start) for start in range(3)]
    assert np.isfinite(reached).any()
    assert found.objective == pytest.approx(min(reached), rel=AGREEMENT)


@pytest.mark.parametrize("quality", QUALITIES)
def test_cone_programs_and_newton_steps_find_the_same(quality: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = synthetic_problem(3, 2, 6, 2, quality=quality, time_price_W=0.1)
    start = devices_in_turn(problem, 1)
    by_newton = solve_resources(problem, start)
    for task in problem.tasks:
        monkeypatch.setattr(type(task.loss_model), "smooth", False)
    by_cones = solve_resources(problem, start)
    assert by_cones.objective == pytest.approx(by_newton.objective, rel=1e-4)


@pytest.mark.parametrize(
    ("solver", "size", "seed"),
    [
        ("auto", (4, 2, 8), 0),
        ("auto", (4, 2, 8), 1),
        ("auto", (4, 2, 8), 2),
        ("sca", (3, 1, 4), 0),
        ("sca", (3, 1, 5), 1),
    ],
)
def test_a_higher_price_never_makes_a_plan_slower(solver: str, size: tuple[int, int, int], seed: int) -> None:
    """Two best plans obey (W' - W) (T' - T) <= 0; with gaps e and e' to the best, (W' - W) (T' - T) <= e + e'."""
    last: tuple[float, Plan, Problem] | None = None
    times = []
    for price_W in PRICES_W:
        problem = synthetic_problem(*size, seed, window_s=ROOMY_S, time_price_W=price_W)
        plan = solve(problem, solver=solver, effort=Effort(3))
        assert not broken_rules(plan)
        time = seconds_priced(problem, plan)
        if last is not None:
            before_W, before, its_problem = last
            assert plan.objective is not None and before.objective is not None
            # the plan at the other price, evaluated at this one, is no better than by the gap
            assert plan.objective <= evaluate(problem, before.schedule).objective * (1 + GAP)
            assert before.objective <= evaluate(its_problem, plan.schedule).objective * (1 + GAP)
            gaps = GAP * (plan.objective + before.objective)
            assert (price_W - before_W) * (time - times[-1]) <= gaps
        times.append(time)
        last = price_W, plan, problem
    assert times[-1] < 0.5 * times[0]


@pytest.mark.parametrize("quality", QUALITIES)
@pytest.mark.parametrize("price_W", [0.05, 0.5])
def test_auto_finds_what_brute_force_finds(price_W: float, quality: str) -> None:
    problem = synthetic_problem(3, 1, 3, 4, quality=quality, time_price_W=price_W)
    best = solve(problem, solver="exhaustive", effort=Effort(30))
    found = solve(problem, effort=Effort(10))
    assert best.objective is not None and found.objective is not None
    assert found.objective <= best.objective * (1 + 1e-3)
    assert found.objective >= best.objective * (1 - 1e-3)
    bound = lower_bound(problem)
    assert bound is None or bound <= min(found.objective, best.objective)


def test_a_revised_plan_goes_on_at_the_price() -> None:
    """What is left of a plan that was made with time for free is planned to end sooner."""
    free = synthetic_problem(4, 2, 10, 1, window_s=ROOMY_S)
    plan = solve(free, effort=Effort(2))
    priced = synthetic_problem(4, 2, 10, 1, window_s=ROOMY_S, time_price_W=1.0)
    rest = with_past(priced, state_of(plan.schedule, priced.world, 0.3 * max(ends_s(plan))))
    assert all(task.past is not None and 0 < task.first_free < task.slots for task in rest.tasks)
    revised = solve(rest, effort=Effort(2), starts=[decisions_of(rest, plan.schedule)])
    assert revised.objective is not None
    assert revised.objective < evaluate(priced, plan.schedule).objective
    assert all(now < before for now, before in zip(ends_s(revised), ends_s(plan), strict=True))


def test_a_plan_file_with_a_price_verifies_and_a_changed_time_is_found(tmp_path: Path) -> None:
    plan = solve(synthetic_problem(3, 2, 4, 0, time_price_W=0.2), effort=Effort(1))
    path = tmp_path / "plan.json"
    dmafl.write_plan(plan, path)
    assert all(check.ok for check in dmafl.verify_plan(path))
    content = json.loads(path.read_text())
    assert content["scenario"]["settings"]["objective"]["time_price_W"] == 0.2
    for change in (
        lambda terms: terms.update(time_s=terms["time_s"] * 1.01),
        lambda terms: terms.pop("time_s"),
    ):
        changed = json.loads(path.read_text())
        change(changed["terms"]["task_1"])
        (tmp_path / "changed.json").write_text(json.dumps(changed))
        worth = next(check for check in dmafl.verify_plan(tmp_path / "changed.json") if check.name == "worth")
        assert "task_1" in worth.worst
