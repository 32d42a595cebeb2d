"""Slopes of the label bias against differences, and class scores of several tasks followed together."""

import numpy as np
import pytest

from dmafl.planning.decision import jobs_from, times_of
from dmafl.planning.loss_models.calibrated import Calibrated
from dmafl.planning.loss_models.label_slopes import Labelled, label_slopes_and_curvature, scores_of_all
from support.decisions import devices_in_turn
from support.synthetic_problems import synthetic_problem


@pytest.mark.parametrize("stale", [0, 3])
def test_label_slopes_against_differences(stale: int) -> None:
    problem = synthetic_problem(5, 1, 20, 0)
    task, decision = problem.tasks[0], devices_in_turn(problem, stale)[0]
    decision = decision.with_(steps=np.random.default_rng(0).uniform(1, 40, task.slots))
    jobs, loss_model = jobs_from(problem, task, decision, times_of(task, decision)), task.loss_model
    assert isinstance(loss_model, Calibrated) and loss_model.labels is not None
    labelled = Labelled(jobs, loss_model.labels, loss_model.calibration.response)
    slopes, band = label_slopes_and_curvature(labelled, scores_of_all([labelled])[0])
    assert len(band) == min(20, task.slots)
    for k in range(task.slots):
        ahead, behind = (
            loss_model.label_bias(jobs.with_(steps=jobs.steps + sign * 1e-4 * (jobs.slot == k)))
            for sign in (1.0, -1.0)
        )
        assert slopes[k] == pytest.approx((ahead - behind) / 2e-4, rel=1e-4, abs=1e-9)


def test_tasks_followed_together_have_their_own_scores() -> None:
    known = []
    for slots in (5, 9):
        problem = synthetic_problem(4, 1, slots, slots)
        task, decision = problem.tasks[0], devices_in_turn(problem, 2)[0]
        loss_model = task.loss_model
        assert isinstance(loss_model, Calibrated) and loss_model.labels is not None
        jobs = jobs_from(problem, task, decision, times_of(task, decision))
        known.append(Labelled(jobs, loss_model.labels, loss_model.calibration.response))
    for alone, together in zip(known, scores_of_all(known), strict=True):
        assert together == pytest.approx(scores_of_all([alone])[0], rel=1e-12)
