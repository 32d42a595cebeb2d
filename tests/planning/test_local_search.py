"""Local search keeps limits and never makes a plan worse."""

import numpy as np
import pytest

from dmafl.planning.effort import Effort
from dmafl.planning.incumbent import incumbent_of
from dmafl.planning.search.local_search import LimitPrices, search
from dmafl.planning.search.moves import Moves, allowed, overlaid
from dmafl.planning.search.repair import fastest
from dmafl.planning.solve import solve
from support.synthetic_problems import synthetic_problem

PATIENT = 60.0


@pytest.mark.parametrize(("quality", "dissimilarity"), [("calibrated", "gram"), ("sharp", "diagonal")])
def test_search_improves_a_poor_plan_within_its_limits(quality: str, dissimilarity: str) -> None:
    problem = synthetic_problem(5, 2, 8, 3, quality=quality, dissimilarity=dissimilarity)
    poor = [fastest(problem, task) for task in problem.tasks]
    before = incumbent_of(problem, poor)
    after = incumbent_of(problem, search(problem, poor, Effort(PATIENT), 0))
    assert before.violation == after.violation == 0
    assert after.objective < 0.9 * before.objective
    again = incumbent_of(problem, search(problem, poor, Effort(PATIENT), 0))
    assert again.objective == after.objective
    best = solve(problem, effort=Effort(PATIENT))
    assert best.objective is not None and after.objective < 1.2 * best.objective


def test_search_for_work_leaves_the_schedule() -> None:
    problem = synthetic_problem(5, 2, 8, 3)
    poor = [fastest(problem, task) for task in problem.tasks]
    found = search(problem, poor, Effort(PATIENT), 0, schedule_too=False)
    for before, after in zip(poor, found, strict=True):
        np.testing.assert_array_equal(after.device, before.device)
        np.testing.assert_array_equal(after.version, before.version)
    assert incumbent_of(problem, found).objective < incumbent_of(problem, poor).objective


def test_a_window_with_a_price_may_be_missed_a_little() -> None:
    problem = synthetic_problem(5, 1, 10, 3, window_s=1.4)
    poor = [fastest(problem, task) for task in problem.tasks]
    cheap = LimitPrices(np.full(1, 1e-9), np.zeros(5))
    violation = incumbent_of(problem, search(problem, poor, Effort(PATIENT), 0, prices=cheap)).violation
    assert 0 < violation <= 0.05 * (1 + 1e-9)


@pytest.mark.parametrize("floor", [0, 2])
def test_moves_keep_the_rules(floor: int) -> None:
    from dataclasses import replace

    problem = synthetic_problem(4, 1, 12, 1)
    task = replace(problem.tasks[0], fewest_slots=floor)
    decision = fastest(problem, task).with_(
        device=np.arange(12) % 4, version=np.maximum(np.arange(12) - 2, 0)
    )
    assert allowed(task, decision, decision)
    drawn = Moves(problem, task, np.random.default_rng(0)).drawn(decision, 400)
    assert len(drawn) > 100
    assert all(allowed(task, one, decision) for one in drawn)
    assert any((one.version != decision.version).any() for one in drawn)
    for one in drawn:
        assert (one.frequency_Hz >= task.lowest_Hz[one.device] * (1 - 1e-12)).all()
        assert (one.frequency_Hz <= task.highest_Hz[one.device] * (1 + 1e-12)).all()
        assert (np.bincount(one.device, minlength=4) >= floor).all()


def test_changes_of_different_slots_go_together() -> None:
    problem = synthetic_problem(4, 1, 6, 1)
    base = fastest(problem, problem.tasks[0])
    first, second, third = (
        base.with_(steps=base.steps + k * np.eye(6)[g]) for g, k in ((1, 1), (3, 2), (1, 5))
    )
    np.testing.assert_array_equal(
        overlaid(base, [first, second, third]).steps - base.steps, [0, 1, 0, 2, 0, 0]
    )
