"""Many decisions at once against one by one."""

import numpy as np
import pytest

from dmafl.planning.batched_costs import costs_of
from dmafl.planning.decision import cost_of, late_s, times_of, uplink_and_compute_J
from support.decisions import random_decision
from support.synthetic_problems import synthetic_problem


@pytest.mark.parametrize("quality", ["calibrated", "sharp", "printed"])
@pytest.mark.parametrize("fresh", [True, False])
def test_many_decisions_cost_what_each_costs(quality: str, fresh: bool) -> None:
    problem = synthetic_problem(6, 2, 12, 3, quality=quality, dissimilarity="gram", exchange=0.5)
    task = problem.tasks[1]
    decisions = [random_decision(problem, task, seed, 1 if fresh else 1 + seed % 4) for seed in range(9)]
    found = costs_of(problem, task, decisions)
    for k, decision in enumerate(decisions):
        assert found.total[k] == pytest.approx(cost_of(problem, task, decision).total, rel=1e-9)
        assert found.late_s[k] == pytest.approx(late_s(task, decision), rel=1e-9)
        assert found.end_s[k] == pytest.approx(times_of(task, decision).end_s[-1], rel=1e-9)
        np.testing.assert_allclose(found.device_J[k], uplink_and_compute_J(problem, task, decision))
