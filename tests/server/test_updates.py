"""What may be mixed in, and what is wrong with the rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dmafl.server.messages import Job, Period
from dmafl.server.updates import (
    MOST_SAMPLES,
    UpdateCheck,
    can_be,
    check_job,
    check_update,
    claimed,
    clipped,
    credible,
)
from support.scripted_transport import PERIOD, order, vector

JOB = Job(7, order(2, 1), 3, 0)
RECEIVED = vector(1.0, 2.0)


@pytest.mark.parametrize(
    ("local", "expected"),
    [
        (vector(4.0, -2.0), UpdateCheck.FINE),
        (vector(4.0), UpdateCheck.WRONG_SIZE),
        (vector(4.0, 2.0, 1.0), UpdateCheck.WRONG_SIZE),
        (np.ones((2, 1), dtype=np.float32), UpdateCheck.WRONG_SIZE),
        (np.ones(2, dtype=np.float64), UpdateCheck.WRONG_TYPE),
        (np.ones(2, dtype=np.int32), UpdateCheck.WRONG_TYPE),
        ([1.0, 2.0], UpdateCheck.WRONG_TYPE),
        (np.ones(4, dtype=np.float32)[::2], UpdateCheck.WRONG_LAYOUT),
        (vector(np.nan, 1.0), UpdateCheck.DIVERGED),
        (vector(1.0, -np.inf), UpdateCheck.DIVERGED),
        (vector(3e38, 3e38), UpdateCheck.FINE),
        (vector(1e-45, -0.0), UpdateCheck.FINE),
    ],
)
def test_a_model_is_checked(local: np.ndarray, expected: UpdateCheck) -> None:
    assert check_update(local, RECEIVED, PERIOD) is expected


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        (replace(JOB), UpdateCheck.FINE),
        (replace(JOB, dispatch=order(2, 0)), UpdateCheck.OTHER_TASK),
        (replace(JOB, dispatch=None), UpdateCheck.OTHER_TASK),
        (replace(JOB, dispatch=order(1, 1)), UpdateCheck.OTHER_JOB),
        (replace(JOB, version=2), UpdateCheck.OTHER_JOB),
    ],
)
def test_a_model_is_that_of_its_job(claim: Job, expected: UpdateCheck) -> None:
    assert check_job(JOB, claim) is expected
    assert check_job(None, claim) is UpdateCheck.UNKNOWN_JOB


def test_a_job_is_looked_up_by_a_whole_number_only() -> None:
    jobs = {1: JOB}
    assert claimed(jobs, replace(JOB, id=1)) is JOB
    for odd in (2, -1, 1.0, True, "1", None, [1]):
        assert claimed(jobs, replace(JOB, id=odd)) is None


@pytest.mark.parametrize("samples", [None, 1, np.int64(5), MOST_SAMPLES - 1])
def test_a_report_that_can_be_true(samples: int | None) -> None:
    """Rounding may make an idle or waiting time a little less than 0."""
    whole = Period(5.0, -1e-12, 1.0, 2.0, 3.0, -1e-12, 1e9, 0.0, 1.0, None, samples, 0.5)
    assert can_be(whole)
    assert can_be(whole._replace(samples=0)), "of a job that has not computed"
    assert credible(whole, 9.0) is whole
    assert credible(whole._replace(loss=np.nan), 9.0) == Period(9.0)


def test_the_norm_of_the_change_is_limited_where_a_limit_is_set() -> None:
    """By hand: from (1, 2) to (4, -2) it is 5."""
    local = vector(4.0, -2.0)
    assert check_update(local, RECEIVED, PERIOD, 5.0) is UpdateCheck.FINE
    assert check_update(local, RECEIVED, PERIOD, 4.999) is UpdateCheck.NORM_TOO_LARGE
    assert check_update(vector(3e38, -3e38), RECEIVED, PERIOD, 1.0) is UpdateCheck.NORM_TOO_LARGE


def test_a_long_change_is_scaled_to_the_norm_and_a_short_one_left_alone() -> None:
    """By hand: from (1, 2) to (4, -2) it is 5; half as far is (2.5, 0)."""
    local = vector(4.0, -2.0)
    assert clipped(local, RECEIVED, 5.0) is local
    assert clipped(local, RECEIVED, 2.5).tolist() == [2.5, 0.0]
    assert clipped(local, RECEIVED, 2.5).dtype == np.float32
    far = clipped(vector(3e38, 2.0), RECEIVED, 2.0)
    np.testing.assert_allclose(far, [3.0, 2.0], rtol=1e-6)


def test_which_ends_a_job() -> None:
    assert {check for check in UpdateCheck if not check.ends_job} == {
        UpdateCheck.UNKNOWN_JOB,
        UpdateCheck.TASK_DONE,
        UpdateCheck.OTHER_TASK,
        UpdateCheck.OTHER_JOB,
    }
    assert len({check.value for check in UpdateCheck}) == len(UpdateCheck), "a reason names one problem"
