"""`calibrated`: what the dissimilarity of devices sees of their balance."""

import numpy as np
import pytest

from dmafl.planning.decision import TaskDecision, jobs_from, times_of
from support.synthetic_problems import synthetic_problem


def bias(kind: str, device: np.ndarray) -> float:
    """Gram bias of a fresh order of four devices."""
    G = len(device)
    problem = synthetic_problem(4, 1, G, 0, dissimilarity=kind, mix_decay=5.0)
    task = problem.tasks[0]
    decision = TaskDecision(device, np.arange(G), np.full(G, 5.0), np.full(G, 8.0), task.lowest_Hz[device])
    return task.loss_model.terms(jobs_from(problem, task, decision, times_of(task, decision)))["gram_bias"]


@pytest.mark.parametrize(("kind", "sees_balance"), [("gram", True), ("diagonal", False)])
def test_diagonal_dissimilarity_sees_no_balance(kind: str, sees_balance: bool) -> None:
    """With p' delta devices that balance each other are as bad as each alone; with p' Gamma p they are not."""
    alone = np.mean([bias(kind, np.full(40, i)) for i in range(4)])
    assert (bias(kind, np.arange(40) % 4) < 0.5 * alone) == sees_balance
