"""Plans where batteries hardly suffice, and what is said where they do not."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dmafl.base.arrays import FloatArray
from dmafl.planning.decision import used_J
from dmafl.planning.effort import Effort
from dmafl.planning.infeasible import Infeasible
from dmafl.planning.problem import Problem
from dmafl.planning.search.least_energy import least_energy
from dmafl.planning.solve import solve
from support.plan_rules import broken_rules
from support.synthetic_problems import synthetic_problem

LEAST_EFFORT = 1e-6
"""With it `auto` tries every kind of start once."""


def _with_batteries(problem: Problem, battery_J: FloatArray) -> Problem:
    devices = replace(problem.world.devices, battery_J=battery_J)
    return replace(problem, world=replace(problem.world, devices=devices))


def _uneven(problem: Problem, scale: float, seed: int) -> Problem:
    uneven = np.random.default_rng(seed).uniform(0.3, 1.5, problem.devices)
    return _with_batteries(problem, problem.world.devices.battery_J * uneven * scale)


def _hardly_enough(problem: Problem, seed: int) -> Problem:
    """Batteries of uneven devices as small as they can be so that a known schedule with the least work is possible."""
    low, high = 1e-3, 1.0
    for _ in range(12):
        middle = float(np.sqrt(low * high))
        tried = _uneven(problem, middle, seed)
        used = used_J(tried, least_energy(tried))
        low, high = (low, middle) if (used <= tried.world.devices.battery_J).all() else (middle, high)
    return _uneven(problem, high, seed)


@pytest.mark.parametrize("more", [1.0, 1.02, 1.1])
@pytest.mark.parametrize(("size", "settings"), [((10, 3, 30), {}), ((20, 2, 30), {"max_staleness": 1})])
def test_batteries_that_hardly_suffice_give_a_plan(
    size: tuple[int, int, int], settings: dict[str, Any], more: float
) -> None:
    """The search found no plan for most of these before it could begin with the least energy."""
    for seed in range(2):
        problem = _hardly_enough(synthetic_problem(*size, seed, **settings), seed)
        problem = _with_batteries(problem, problem.world.devices.battery_J * more)
        assert broken_rules(solve(problem, effort=Effort(LEAST_EFFORT))) == {}


@pytest.mark.parametrize("more", [1.02, 1.1])
def test_batteries_a_little_above_what_a_plan_uses_give_a_plan(more: float) -> None:
    problem = synthetic_problem(6, 2, 20, 1, steps_min=10, batch_min=16)
    plan = solve(problem, effort=Effort(1))
    spent = plan.timeline.uplink_J + plan.timeline.compute_J
    used = np.bincount(plan.schedule.device, spent, minlength=problem.devices)
    tight = _with_batteries(problem, np.maximum(used * more, 1e-6))
    assert broken_rules(solve(tight, effort=Effort(1))) == {}


def _followed(problem: Problem, caught: Infeasible) -> tuple[Problem, list[int]]:
    """The problem changed as the message says, all at once; and the devices that it names."""
    named: list[int] = []
    for limit in caught.problems:
        shown = str(limit)
        if limit.name == "fleet.battery_J":
            named = [int(i) for i in re.findall(r"(?:device|,) (\d+) by", shown)]
            found = re.search(r"by a factor of ([\d.e+]+)", limit.remedy)
            assert found is not None
            battery_J = problem.world.devices.battery_J.copy()
            battery_J[named] *= float(found[1])
            problem = _with_batteries(problem, battery_J)
        else:
            found = re.search(r"Raise window_s to ([\d.e+]+) s", limit.remedy)
            assert found is not None
            tasks = tuple(
                replace(task, window_s=np.full(problem.devices, float(found[1])))
                if limit.name == f"tasks.{task.name}.window_s"
                else task
                for task in problem.tasks
            )
            devices = replace(
                problem.world.devices, window_s=np.stack([task.window_s for task in tasks], axis=1)
            )
            problem = replace(problem, tasks=tasks, world=replace(problem.world, devices=devices))
    return problem, named


@pytest.mark.parametrize("scale", [0.02, 0.1, 0.13])
@pytest.mark.parametrize(
    ("size", "settings"),
    [
        ((10, 3, 30), {}),
        ((6, 2, 12), {"window_s": 1.0}),
        ((6, 2, 12), {"window_s": 1.5, "steps_min": 10}),
        ((6, 2, 12), {"window_s": 1.5, "steps_min": 10, "max_staleness": 0}),
    ],
)
def test_following_the_remedy_once_is_enough(
    size: tuple[int, int, int], settings: dict[str, Any], scale: float
) -> None:
    """D4 of a trial: each message named one more device."""
    problem = _uneven(synthetic_problem(*size, 0, **settings), scale, 0)
    with pytest.raises(Infeasible) as caught:
        solve(problem, effort=Effort(0.5))
    changed, named = _followed(problem, caught.value)
    assert broken_rules(solve(changed, effort=Effort(0.5))) == {}
    if scale == 0.02:
        assert len(named) > 1, "all devices that are short, not only the worst"


def test_windows_and_batteries_are_named_at_once() -> None:
    """D4."""
    problem = _uneven(synthetic_problem(4, 2, 8, 0, window_s=0.05), 0.005, 0)
    with pytest.raises(Infeasible) as caught:
        solve(problem, effort=Effort(0.5))
    names = [limit.name for limit in caught.value.problems]
    assert names == ["tasks.task_0.window_s", "tasks.task_1.window_s", "fleet.battery_J"]
    changed, _ = _followed(problem, caught.value)
    assert broken_rules(solve(changed, effort=Effort(0.5))) == {}
