"""Exact resources of the slots that are left: what has happened stays as it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dmafl.planning.decision import COLUMNS, cost_of, times_of
from dmafl.planning.effort import Effort
from dmafl.planning.problem import Problem, make_problem
from dmafl.planning.replan import State, decisions_of, replan, state_of, with_past
from dmafl.planning.resources.best_resources import solve_resources
from dmafl.planning.solve import solve
from dmafl.schedule.plan import Plan
from support.plan_rules import broken_rules
from support.synthetic_problems import synthetic_estimates, synthetic_problem, synthetic_world

ROUNDING = 1e-9
"""Relative error of a cost."""


def _begun(seed: int, share: float) -> tuple[Problem, Plan, State]:
    problem = synthetic_problem(5, 2, 10, seed)
    plan = solve(problem, effort=Effort(0.2))
    state = state_of(plan.schedule, problem.world, share * float(plan.timeline.end_s.max()))
    return with_past(problem, state), plan, state


@pytest.mark.parametrize("share", [0.25, 0.6])
def test_what_has_happened_stays_and_the_rest_is_better_and_within_limits(share: float) -> None:
    for seed in range(2):
        problem, plan, state = _begun(seed, share)
        before = decisions_of(problem, plan.schedule)
        solved = solve_resources(problem, before)
        assert solved.feasible
        free = 0
        for task, old, new in zip(problem.tasks, before, solved.decisions, strict=True):
            n = task.first_free
            free += task.slots - n
            for name in COLUMNS:
                np.testing.assert_array_equal(getattr(new, name)[:n], getattr(old, name)[:n])
            times = times_of(task, new)
            assert (times.start_s[n:] >= state.now_s * (1 - ROUNDING)).all()
            assert (times.end_s <= task.window_s[new.device] * (1 + ROUNDING)).all()
        assert 0 < free < sum(task.slots for task in problem.tasks)
        cost = sum(cost_of(problem, task, old).total for task, old in zip(problem.tasks, before, strict=True))
        assert solved.objective < cost, "whole numbers of a plan can be bettered by real ones"


def test_no_small_change_of_what_is_left_is_better() -> None:
    """Frequencies a little higher or lower, steps and batches too, where windows and batteries leave room."""
    problem, plan, _ = _begun(1, 0.4)
    far = replace(problem, tasks=tuple(replace(t, window_s=t.window_s * 3) for t in problem.tasks))
    solved = solve_resources(far, decisions_of(far, plan.schedule))
    tried = 0
    for task, best in zip(far.tasks, solved.decisions, strict=True):
        cost = cost_of(far, task, best).total
        for name, (low, high) in (("steps", task.steps_range), ("batch", task.batch_range)):
            for g in range(task.first_free, task.slots):
                for factor in (0.98, 1.02):
                    column = getattr(best, name).copy()
                    column[g] = np.clip(column[g] * factor, low, high)
                    changed = best.with_(**{name: column})
                    if (times_of(task, changed).version == times_of(task, best).version).all():
                        tried += 1
                        assert cost_of(far, task, changed).total > cost * (1 - 1e-6)
    assert tried > 20


def test_a_replan_with_nothing_done_is_as_good_as_a_plan() -> None:
    world = synthetic_world(5, 2, 10, 3)
    estimates = synthetic_estimates(world, 3)
    problem = make_problem(world, estimates)
    first = solve(problem, effort=Effort(0.2))
    plan = solve(problem, effort=Effort(2), starts=[decisions_of(problem, first.schedule)])
    nothing = State(0.0, first.schedule.take(np.zeros(len(first.schedule), dtype=bool)))
    again = replan(first, nothing, estimates, effort=2)
    assert again.objective is not None and plan.objective is not None
    assert again.objective <= plan.objective * (1 + ROUNDING)
    assert broken_rules(again) == {}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_exact_resources_make_replans_better(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the search alone, which is what replans had before."""
    problem, plan, state = _begun(seed, 0.4)
    estimates = synthetic_estimates(problem.world, seed + 50)
    with_them = replan(plan, state, estimates, effort=6)
    monkeypatch.setattr("dmafl.planning.search.auto.EXACT_JOBS", 0)
    without = replan(plan, state, estimates, effort=6)
    assert broken_rules(with_them) == {}
    assert with_them.objective is not None and without.objective is not None
    assert with_them.objective <= without.objective * (1 + ROUNDING)
