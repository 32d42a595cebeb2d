"""Drift over a schedule and while jobs are under way, against integrals over time."""

import math
from itertools import pairwise

import numpy as np
import pytest

from dmafl.theory.constants import Constants
from dmafl.theory.drift import computed_s, drift_of_all, drift_while_under_way
from dmafl.theory.jobs import TaskJobs
from support.small_jobs import close, draw_case


def computing(jobs: TaskJobs, i: int, time_s: float) -> bool:
    begin = jobs.start_s + jobs.download_s
    return bool(((jobs.device == i) & (begin <= time_s) & (time_s < begin + jobs.compute_s)).any())


def integral(jobs: TaskJobs, idle: np.ndarray, active: np.ndarray, since_s: float, until_s: float) -> float:
    """Integral of all devices' rates; they are constant between two neighbouring events, so the middle is enough."""
    begin = jobs.start_s + jobs.download_s
    events = np.concatenate([begin, begin + jobs.compute_s, [since_s, until_s]])
    events = np.unique(events[(since_s <= events) & (events <= until_s)])
    total = 0.0
    for left, right in pairwise(events.tolist()):
        for i in range(len(idle)):
            rate = active[i] if computing(jobs, i, (left + right) / 2) else idle[i]
            total += float(rate) * (right - left)
    return total


@pytest.mark.parametrize("seed", range(10))
def test_drift_of_all_is_the_integral_over_the_schedule(seed: int) -> None:
    jobs, c = draw_case(seed)
    expected = integral(jobs, c.drift_idle, c.drift_active, 0.0, jobs.horizon_s)
    assert math.isclose(drift_of_all(jobs, c), expected, rel_tol=1e-10, abs_tol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_drift_while_under_way_is_the_integral_from_download_to_aggregation(seed: int) -> None:
    jobs, c = draw_case(seed)
    expected = [
        integral(jobs, c.drift_idle_size, c.drift_active_size, jobs.start_s[k], jobs.end_s[k])
        for k in range(len(jobs))
    ]
    np.testing.assert_allclose(drift_while_under_way(jobs, c), expected, rtol=1e-10)


def test_a_riemann_sum_agrees() -> None:
    """Nothing is assumed about where rates change."""
    jobs, c = draw_case(0, slots=6)
    n = 3000
    time_s = (np.arange(n) + 0.5) / n * jobs.horizon_s
    active = np.array([[computing(jobs, i, t) for i in range(c.devices)] for t in time_s])
    rate = np.where(active, c.drift_active_size, c.drift_idle_size).sum(1)
    under_way = (jobs.start_s[:, None] <= time_s) & (time_s < jobs.end_s[:, None])
    sums = (under_way * rate).sum(1) * jobs.horizon_s / n
    assert np.abs(drift_while_under_way(jobs, c) - sums).max() < 5e-3 * sums.max()


def test_a_device_that_never_works_drifts_all_the_time() -> None:
    jobs, c = draw_case(1, devices=3)
    rates = {name: np.append(getattr(c, name)[:2] * 0, 1.0) for name in ("drift_idle", "drift_idle_size")}
    rates |= {
        name: np.append(getattr(c, name)[:2] * 0, 9.0) for name in ("drift_active", "drift_active_size")
    }
    only = Constants(**(vars(c) | rates))
    others = jobs.with_(device=jobs.device % 2)
    assert close(drift_of_all(others, only), jobs.horizon_s)
    np.testing.assert_allclose(drift_while_under_way(others, only), jobs.end_s - jobs.start_s)


def test_computing_longer_lowers_drift_when_devices_drift_more_while_idle() -> None:
    """And the other way round; times of aggregations are held."""
    jobs, c = draw_case(2)
    longer = jobs.with_(compute_s=jobs.compute_s + jobs.upload_s, upload_s=0 * jobs.upload_s)
    more, less = np.full(c.devices, 0.2), np.full(c.devices, 0.1)
    for idle, active, sign in ((more, less, -1), (less, more, 1)):
        changed = Constants(**(vars(c) | {"drift_idle": idle, "drift_active": active}))
        assert sign * (drift_of_all(longer, changed) - drift_of_all(jobs, changed)) > 0


def test_computing_times_by_device() -> None:
    jobs, c = draw_case(3)
    found = computed_s(jobs, c.devices + 1)
    expected = [jobs.compute_s[jobs.device == i].sum() for i in range(c.devices)]
    np.testing.assert_allclose(found, [*expected, 0.0])


def test_jobs_that_touch_or_take_no_time() -> None:
    """Two jobs of a device one after the other without a pause, one without any download, upload or wait."""
    jobs, c = draw_case(4, slots=2, devices=1)
    zero, one = np.zeros(2), np.ones(2)
    jobs = jobs.with_(
        device=np.array([0, 0]),
        version=np.array([0, 1]),
        idle_s=zero,
        start_s=np.array([0.0, 1.0]),
        download_s=zero,
        compute_s=one,
        upload_s=zero,
        end_s=np.array([1.0, 2.0]),
    )
    np.testing.assert_allclose(drift_while_under_way(jobs, c), c.drift_active_size[0] * one)
    assert close(drift_of_all(jobs, c), 2 * c.drift_active[0])
