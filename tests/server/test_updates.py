"""What may be mixed in, and what is wrong with the rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dmafl.server.messages import Job
from dmafl.server.updates import UpdateCheck, check_update
from support.scripted_transport import order, vector

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
        (vector(np.nan, 1.0), UpdateCheck.DIVERGED),
        (vector(1.0, -np.inf), UpdateCheck.DIVERGED),
        (vector(3e38, 3e38), UpdateCheck.FINE),
    ],
)
def test_a_model_is_checked(local: np.ndarray, expected: UpdateCheck) -> None:
    assert check_update(JOB, JOB, local, RECEIVED) is expected


@pytest.mark.parametrize(
    ("claimed", "expected"),
    [
        (replace(JOB), UpdateCheck.FINE),
        (replace(JOB, dispatch=order(2, 0)), UpdateCheck.OTHER_TASK),
        (replace(JOB, dispatch=order(1, 1)), UpdateCheck.OTHER_JOB),
        (replace(JOB, version=2), UpdateCheck.OTHER_JOB),
    ],
)
def test_a_model_is_that_of_its_job(claimed: Job, expected: UpdateCheck) -> None:
    assert check_update(JOB, claimed, vector(0.0, 0.0), RECEIVED) is expected
    assert check_update(None, claimed, vector(0.0, 0.0), RECEIVED) is UpdateCheck.UNKNOWN_JOB


def test_the_norm_of_the_change_is_limited_where_a_limit_is_set() -> None:
    """By hand: from (1, 2) to (4, -2) it is 5."""
    local = vector(4.0, -2.0)
    assert check_update(JOB, JOB, local, RECEIVED, 5.0) is UpdateCheck.FINE
    assert check_update(JOB, JOB, local, RECEIVED, 4.999) is UpdateCheck.NORM_TOO_LARGE
    assert check_update(JOB, JOB, vector(3e38, -3e38), RECEIVED, 1.0) is UpdateCheck.NORM_TOO_LARGE


def test_what_the_server_does_with_each() -> None:
    assert {check for check in UpdateCheck if check.usable} == {UpdateCheck.FINE, UpdateCheck.DIVERGED}
    assert {check for check in UpdateCheck if not check.ends_job} == {
        UpdateCheck.UNKNOWN_JOB,
        UpdateCheck.OTHER_TASK,
        UpdateCheck.OTHER_JOB,
    }
    assert len({check.value for check in UpdateCheck}) == len(UpdateCheck), "a reason names one problem"
