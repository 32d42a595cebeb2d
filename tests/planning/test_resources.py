"""Resources of a fixed schedule: against IPOPT, against closed forms, their limits, prices and refusals."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dmafl.planning.decision import TaskDecision, cost_of, device_J, jobs_from, times_of
from dmafl.planning.problem import Problem
from dmafl.planning.resources.best_resources import Resources, solve_resources
from reference.ipopt_resources import Model, smooth
from support.decisions import devices_in_turn
from support.synthetic_problems import synthetic_problem

AGREEMENT = 1e-5
"""Relative difference to IPOPT in the objective."""
LIMIT = 1e-9
"""Relative slack of the rules (dmafl.schedule.checks)."""
STARTS = 5
FEWEST_INSIDE = 5
"""Of 40 changes at random so many must keep all limits (7 or more do), or none would be compared."""
MODELS = (("calibrated", "gram"), ("sharp", "diagonal"))


def cost(problem: Problem, decisions: Sequence[TaskDecision]) -> float:
    return sum(
        cost_of(problem, task, decision).total
        for task, decision in zip(problem.tasks, decisions, strict=True)
    )


def spent_J(problem: Problem, decisions: Sequence[TaskDecision]) -> Any:
    return sum(
        device_J(problem, task, decision) for task, decision in zip(problem.tasks, decisions, strict=True)
    )


def check_limits(problem: Problem, decisions: Sequence[TaskDecision]) -> None:
    for task, decision in zip(problem.tasks, decisions, strict=True):
        times = times_of(task, decision)
        assert (times.version == decision.version).all()
        assert (times.end_s <= task.window_s[decision.device] * (1 + LIMIT)).all()
        for value, (low, high) in (
            (decision.steps, task.steps_range),
            (decision.batch, task.batch_range),
            (decision.frequency_Hz, (task.lowest_Hz[decision.device], task.highest_Hz[decision.device])),
        ):
            assert (value >= np.asarray(low) * (1 - LIMIT)).all()
            assert (value <= np.asarray(high) * (1 + LIMIT)).all()
    assert (spent_J(problem, decisions) <= problem.world.devices.battery_J * (1 + LIMIT)).all()


def samples_of(problem: Problem, decisions: Sequence[TaskDecision]) -> list[Any]:
    pairs = zip(problem.tasks, decisions, strict=True)
    return [jobs_from(problem, task, decision, times_of(task, decision)).samples for task, decision in pairs]


def with_world(problem: Problem, **changes: Any) -> Problem:
    """The same with other columns of the devices."""
    devices = replace(problem.world.devices, **changes)
    return replace(problem, world=replace(problem.world, devices=devices))


def without_drift(problem: Problem) -> Problem:
    tasks = []
    for task in problem.tasks:
        quality: Any = task.loss_model
        none = np.zeros(quality.constants.devices)
        names = ("drift_idle", "drift_active", "drift_idle_size", "drift_active_size")
        constants = replace(quality.constants, **dict.fromkeys(names, none))
        tasks.append(replace(task, loss_model=replace(quality, constants=constants)))
    return replace(problem, tasks=tuple(tasks))


def with_windows(problem: Problem, window_s: float) -> Problem:
    tasks = [replace(task, window_s=np.full(problem.devices, window_s)) for task in problem.tasks]
    return replace(problem, tasks=tuple(tasks))


@pytest.mark.parametrize(("quality", "dissimilarity"), MODELS)
@pytest.mark.parametrize(
    ("size", "stale", "seed"),
    [((3, 1, 4), 0, 0), ((3, 1, 4), 2, 1), ((3, 2, 6), 0, 2), ((3, 2, 6), 2, 3), ((10, 3, 30), 0, 4)],
)
def test_ipopt_agrees(
    size: tuple[int, int, int], stale: int, seed: int, quality: str, dissimilarity: str
) -> None:
    problem = smooth(synthetic_problem(*size, seed, quality=quality, dissimilarity=dissimilarity))
    found = solve_resources(problem, devices_in_turn(problem, stale))
    assert found.converged and found.feasible
    check_limits(problem, found.decisions)
    model = Model(problem, found.decisions, samples_of(problem, found.decisions))
    starts = STARTS if size[2] < 30 else 2
    reached = [model.solve(start) for start in range(starts)]
    assert np.isfinite(reached).any()
    for value in reached:
        if np.isfinite(value):
            assert found.objective == pytest.approx(value, rel=AGREEMENT)


@pytest.mark.parametrize(
    ("quality", "dissimilarity"), [*MODELS, ("calibrated", "diagonal"), ("printed", "gram")]
)
@pytest.mark.parametrize("stale", [0, 2])
def test_never_worse_than_the_start_and_no_way_down_from_the_end(
    quality: str, dissimilarity: str, stale: int
) -> None:
    problem = synthetic_problem(4, 2, 12, 5, quality=quality, dissimilarity=dissimilarity)
    start = devices_in_turn(problem, stale)
    found = solve_resources(problem, start)
    assert found.converged and found.feasible
    check_limits(problem, found.decisions)
    assert found.objective == pytest.approx(cost(problem, found.decisions), rel=1e-12)
    assert found.objective <= cost(problem, start)
    rng = np.random.default_rng(0)
    if quality == "sharp" and stale:
        return  # the drift of others' data has kinks, and versions jump
    compared = 0
    for _ in range(40):
        changed = [
            _nudged(rng, problem, task, decision)
            for task, decision in zip(problem.tasks, found.decisions, strict=True)
        ]
        inside = all(
            _as_planned(task, decision) for task, decision in zip(problem.tasks, changed, strict=True)
        )
        if inside and (spent_J(problem, changed) <= problem.world.devices.battery_J).all():
            compared += 1
            assert cost(problem, changed) >= found.objective * (1 - 1e-6)
    assert compared >= FEWEST_INSIDE


def _as_planned(task: Any, decision: TaskDecision) -> bool:
    """Whether windows are kept and every job receives the version chosen."""
    times = times_of(task, decision)
    in_time = bool((times.end_s <= task.window_s[decision.device]).all())
    return in_time and bool((times.version == decision.version).all())


def _nudged(rng: np.random.Generator, problem: Problem, task: Any, decision: TaskDecision) -> TaskDecision:
    """Slightly other work of a few jobs, within its ranges."""
    size = 10.0 ** rng.uniform(-3, -1.5)
    here = rng.random(task.slots) < 0.3
    factor = np.where(here, np.exp(rng.normal(0, size, (3, task.slots))), 1.0)
    i = decision.device
    return decision.with_(
        steps=np.clip(decision.steps * factor[0], *task.steps_range),
        batch=np.clip(decision.batch * factor[1], *task.batch_range),
        frequency_Hz=np.clip(decision.frequency_Hz * factor[2], task.lowest_Hz[i], task.highest_Hz[i]),
    )


@pytest.mark.parametrize(("quality", "dissimilarity"), MODELS)
def test_without_drift_and_with_time_the_lowest_frequency_is_best(quality: str, dissimilarity: str) -> None:
    problem = synthetic_problem(3, 2, 6, 0, quality=quality, dissimilarity=dissimilarity)
    problem = with_windows(without_drift(problem), 1e5)
    found = solve_resources(problem, devices_in_turn(problem, 0))
    for task, decision in zip(problem.tasks, found.decisions, strict=True):
        assert decision.frequency_Hz == pytest.approx(task.lowest_Hz[decision.device], rel=1e-3)
    assert found.window_prices == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(("quality", "dissimilarity"), MODELS)
def test_a_tight_window_is_used_to_its_end_and_has_the_price_of_a_second(
    quality: str, dissimilarity: str
) -> None:
    problem = without_drift(synthetic_problem(3, 1, 6, 0, quality=quality, dissimilarity=dissimilarity))
    start = devices_in_turn(problem, 0, steps=1.0, batch=4.0)
    least_s = float(times_of(problem.tasks[0], start[0]).end_s[-1])
    window_s = 1.5 * least_s
    tight, wider = with_windows(problem, window_s), with_windows(problem, 1.01 * window_s)
    found, more = solve_resources(tight, start), solve_resources(wider, start)
    end_s = times_of(tight.tasks[0], found.decisions[0]).end_s[-1]
    assert end_s == pytest.approx(window_s, rel=1e-6)
    saved = (found.objective - more.objective) / (0.01 * window_s)
    assert 0.5 * (found.window_prices[0] + more.window_prices[0]) == pytest.approx(saved, rel=0.01)
    assert found.job_prices[0] == pytest.approx(found.window_prices[0], rel=1e-3)


def test_a_binding_battery_is_used_up_and_has_the_price_of_a_joule() -> None:
    """Where the number of samples does not change: prices hold it, and it follows the times."""
    problem = synthetic_problem(3, 2, 6, 1, drift={"kind": "none"})
    start = devices_in_turn(problem, 0)
    free = solve_resources(problem, start)
    used = spent_J(problem, free.decisions)
    low_J = used.copy()
    idle = [decision.with_(batch=1e-12 * decision.batch) for decision in free.decisions]
    uploads_J = spent_J(problem, idle)[0]
    low_J[0] = uploads_J + 0.6 * (used[0] - uploads_J)
    more_J = low_J.copy()
    more_J[0] += 0.006 * (used[0] - uploads_J)
    low = with_world(problem, battery_J=np.where(np.arange(3) == 0, low_J, 10 * used))
    more = with_world(problem, battery_J=np.where(np.arange(3) == 0, more_J, 10 * used))
    first, second = solve_resources(low, start), solve_resources(more, start)
    assert first.feasible
    check_limits(low, first.decisions)
    assert spent_J(low, first.decisions)[0] == pytest.approx(low_J[0], rel=1e-6)
    saved = (first.objective - second.objective) / (more_J[0] - low_J[0])
    assert 0.5 * (first.battery_prices[0] + second.battery_prices[0]) == pytest.approx(saved, rel=0.002)
    assert first.battery_prices[1:] == pytest.approx(0.0, abs=1e-4 * first.battery_prices[0])


def test_one_job_by_hand() -> None:
    """One slot, no drift, roomy window: the sharp bound is a function of e and B alone at the lowest frequency."""
    problem = synthetic_problem(1, 1, 1, 0, quality="sharp", dissimilarity="diagonal")
    problem = with_windows(without_drift(problem), 1e6)
    problem = with_world(problem, battery_J=np.asarray([1e6]))
    task, start = problem.tasks[0], devices_in_turn(problem, 0)[0]
    found = solve_resources(problem, [start])
    steps, batch = np.linspace(*task.steps_range, 40), np.linspace(*task.batch_range, 121)
    slow = start.with_(frequency_Hz=task.lowest_Hz[start.device])
    best = min(
        cost(problem, [slow.with_(steps=np.asarray([e]), batch=np.asarray([B]))])
        for e in steps
        for B in batch
    )
    assert found.objective <= best * (1 + 1e-6)
    assert found.objective >= 0.999 * best


def refused(problem: Problem, start: Sequence[TaskDecision]) -> Resources:
    found = solve_resources(problem, start)
    assert not found.feasible and not found.converged
    assert all(np.isfinite(decision.steps).all() for decision in found.decisions)
    return found


@pytest.mark.parametrize("quality", ["calibrated", "sharp", "printed"])
def test_a_window_too_short_is_named(quality: str) -> None:
    problem = with_windows(synthetic_problem(3, 2, 6, 0, quality=quality), 0.05)
    found = refused(problem, devices_in_turn(problem, 0))
    assert {one.rule for one in found.broken} == {"S4_window"}
    fastest = devices_in_turn(problem, 0, steps=1.0, batch=4.0)[0]
    least_s = float(times_of(problem.tasks[0], fastest).end_s[-1]) - 0.05
    assert found.broken[0].excess == pytest.approx(least_s, rel=1e-3)


@pytest.mark.parametrize("quality", ["calibrated", "sharp", "printed"])
def test_a_battery_too_small_is_named(quality: str) -> None:
    problem = synthetic_problem(3, 2, 6, 0, quality=quality)
    problem = with_world(problem, battery_J=np.asarray([1e-6, 10.0, 10.0]))
    found = refused(problem, devices_in_turn(problem, 0))
    assert [one.rule for one in found.broken] == ["S6_energy"]
    assert str(problem.world.devices.id[0]) in found.broken[0].where


def test_a_dead_link_is_named() -> None:
    problem = synthetic_problem(3, 1, 6, 0)
    task = problem.tasks[0]
    dead = replace(problem, tasks=(replace(task, upload_s=np.full_like(task.upload_s, np.inf)),))
    found = refused(dead, devices_in_turn(dead, 0))
    assert "no link" in found.broken[0].where


def test_ranges_of_one_number() -> None:
    problem = synthetic_problem(3, 2, 6, 0, steps_min=5, steps_max=5, batch_min=16, batch_max=16)
    found = solve_resources(problem, devices_in_turn(problem, 1, steps=5.0))
    assert found.feasible and found.converged
    check_limits(problem, found.decisions)
    assert all(
        (decision.steps == 5.0).all() and (decision.batch == 16.0).all() for decision in found.decisions
    )


def test_a_start_outside_its_limits_is_brought_inside() -> None:
    problem = synthetic_problem(3, 2, 6, 0)
    start = devices_in_turn(problem, 0, steps=40.0, batch=64.0)
    found, other = (
        solve_resources(problem, start),
        solve_resources(problem, devices_in_turn(problem, 0, 2.0, 8.0)),
    )
    assert found.feasible
    check_limits(problem, found.decisions)
    assert found.objective == pytest.approx(other.objective, rel=1e-3)


def test_the_same_twice() -> None:
    problem = synthetic_problem(4, 2, 10, 3)
    first, second = (solve_resources(problem, devices_in_turn(problem, 2)) for _ in range(2))
    assert first.objective == second.objective
    assert (first.decisions[0].steps == second.decisions[0].steps).all()
