"""Times and costs of decisions against the world and the rules."""

import numpy as np
import pytest

from dmafl.planning.decision import cost_of, device_J
from dmafl.planning.objective import evaluate
from dmafl.planning.placement import place_jobs
from dmafl.schedule.timeline import energy_J, replay
from support.decisions import random_decision
from support.synthetic_problems import synthetic_problem


@pytest.mark.parametrize("quality", ["calibrated", "sharp", "printed"])
@pytest.mark.parametrize("in_flight", [1, 2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_placed_decisions_keep_the_rules_of_time_and_cost_what_the_replay_says(
    seed: int, in_flight: int, quality: str
) -> None:
    problem = synthetic_problem(6, 2, 12, seed, quality=quality, dissimilarity="diagonal")
    decisions = [random_decision(problem, task, seed, in_flight) for task in problem.tasks]
    schedule = place_jobs(problem, decisions)
    evaluation = evaluate(problem, schedule)
    broken = {check.name for check in evaluation.checks if not check.ok}
    assert broken <= {"S4_window", "S6_energy"}
    total = sum(cost_of(problem, task, one).total for task, one in zip(problem.tasks, decisions, strict=True))
    assert evaluation.objective == pytest.approx(total, rel=1e-9)
    own = energy_J(problem.world, schedule, replay(problem.world, schedule))[:, :, :2].sum(axis=2)
    for task, decision in zip(problem.tasks, decisions, strict=True):
        np.testing.assert_allclose(device_J(problem, task, decision), own[:, task.number])
