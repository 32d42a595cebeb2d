"""A loss model of one's own plans with every solver: one file with its terms is enough."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import support.own_loss_model
from dmafl.planning.effort import Effort
from dmafl.planning.objective import evaluate
from dmafl.planning.placement import place_jobs
from dmafl.planning.problem import Problem, make_problem
from dmafl.planning.resources.best_resources import solve_resources
from dmafl.planning.search.descent import middling
from dmafl.planning.search.repair import whole_and_repaired
from dmafl.planning.solve import solve
from dmafl.schedule.plan import Plan
from support.own_loss_model import skilled
from support.synthetic_problems import synthetic_estimates, synthetic_world

DEVICES, SLOTS, SEED = 3, 6, 2
RISING = np.asarray([0.3, 1.0, 3.0])
SOLVERS = ("auto", "sca")
MOST_LINES = 80


@cache
def problem_of(*, falling: bool) -> Problem:
    world = synthetic_world(DEVICES, 1, SLOTS, SEED, max_staleness=1)
    skill = RISING[::-1].copy() if falling else RISING
    return make_problem(world, synthetic_estimates(world, SEED), quality=skilled(skill))


@cache
def planned(solver: str, *, falling: bool = False) -> Plan:
    return solve(problem_of(falling=falling), solver=solver, effort=Effort(1.0), seed=1)


def round_robin_objective(problem: Problem) -> float:
    """Of all devices in turn, one after another, each job with its best work."""
    task = problem.tasks[0]
    in_turn = middling(task, np.resize(task.usable, SLOTS), np.arange(SLOTS))
    best = whole_and_repaired(problem, solve_resources(problem, [in_turn]).decisions)
    evaluation = evaluate(problem, place_jobs(problem, best.decisions))
    assert evaluation.executable
    return evaluation.objective


def test_the_model_is_one_small_file() -> None:
    assert len(Path(support.own_loss_model.__file__).read_text().splitlines()) <= MOST_LINES


@pytest.mark.parametrize("solver", SOLVERS)
def test_plans_are_executable_and_no_worse_than_round_robin(solver: str) -> None:
    plan, problem = planned(solver), problem_of(falling=False)
    assert plan.executable
    assert str(plan.quality) == "skilled+gram"
    assert plan.objective is not None
    assert plan.objective == pytest.approx(evaluate(problem, plan.schedule).objective, rel=1e-12)
    assert plan.objective <= round_robin_objective(problem)


@pytest.mark.parametrize("solver", SOLVERS)
def test_plans_follow_the_model(solver: str) -> None:
    """With skills the other way round, the other devices train."""

    def mean_skill(plan: Plan) -> float:
        return float(RISING[plan.schedule.device].mean())

    rising, falling = planned(solver), planned(solver, falling=True)
    assert mean_skill(rising) > RISING.mean() > mean_skill(falling)


def test_solvers_agree_within_a_few_per_cent() -> None:
    best, other = (planned(solver).objective for solver in SOLVERS)
    assert best is not None and other is not None
    assert best <= other <= 1.05 * best
