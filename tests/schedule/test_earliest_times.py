"""The earliest times of one schedule, of a batch, with versions held, and of shares."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmafl.schedule.earliest_times import (
    earliest_ends,
    earliest_ends_of_shares,
    earliest_times,
    first_fit,
    one_after_another,
    slope_in_lengths,
)


@dataclass(frozen=True)
class Begun:
    start_s: np.ndarray
    end_s: np.ndarray
    now_s: float


@dataclass(frozen=True)
class Drawn:
    """A batch of random schedules of one task."""

    device: np.ndarray
    version: np.ndarray
    busy_s: np.ndarray
    download_s: np.ndarray
    begun: Begun | None


def drawn(seed: int, schedules: int, slots: int, devices: int, begun: int) -> Drawn:
    rng = np.random.default_rng(seed)
    device = rng.integers(0, devices, (schedules, slots))
    version = np.maximum(np.arange(slots) - rng.integers(0, 5, (schedules, slots)), 0)
    past = None
    if begun:
        start_s = np.sort(rng.uniform(0, 3, begun))
        past = Begun(start_s, np.maximum.accumulate(start_s + rng.exponential(size=begun)), 3.0)
    busy_s = rng.exponential(size=(schedules, slots)) * 10 ** rng.uniform(-2, 2, (schedules, slots))
    return Drawn(device, version, busy_s, rng.exponential(size=(devices, slots)), past)


@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 25), st.integers(1, 5), st.integers(0, 25))
def test_a_batch_has_exactly_the_times_of_its_schedules(
    seed: int, schedules: int, slots: int, devices: int, begun: int
) -> None:
    d = drawn(seed, schedules, slots, devices, min(begun, slots))
    batch = earliest_times(d.device, d.version, d.busy_s, d.download_s, d.begun)
    for k in range(schedules):
        single = earliest_times(d.device[k], d.version[k], d.busy_s[k], d.download_s, d.begun)
        for name, column in single._asdict().items():
            np.testing.assert_array_equal(getattr(batch, name)[k], column, err_msg=name)


@given(st.integers(0, 2**32), st.integers(1, 25), st.integers(0, 25))
def test_rules_s2_and_s3_hold_and_no_slot_completes_later_than_it_must(
    seed: int, slots: int, begun: int
) -> None:
    d = drawn(seed, 1, slots, 4, min(begun, slots))
    first = min(begun, slots)
    t = earliest_times(d.device[0], d.version[0], d.busy_s[0], d.download_s, d.begun)
    tau = np.concatenate([[0.0], t.end_s])
    now_s = 0.0 if d.begun is None else d.begun.now_s
    assert (np.diff(t.end_s) >= 0).all()
    for g in range(first, slots):
        v = int(t.version[g])
        assert d.version[0, g] <= v <= g
        assert t.download_s[g] == d.download_s[d.device[0, g], v]
        length_s = t.download_s[g] + d.busy_s[0, g]
        slack = 1e-12 * tau[g + 1]
        assert t.start_s[g] >= max(tau[v], now_s) - slack
        assert v == g or t.start_s[g] <= tau[v + 1], "the version received is still the current one"
        assert tau[g + 1] == pytest.approx(t.start_s[g] + length_s)
        assert tau[g + 1] == pytest.approx(max(tau[g], max(tau[v], now_s) + length_s)), "as early as can be"
        if v > d.version[0, g]:  # with the version before, the job would have started too late
            before = d.download_s[d.device[0, g], v - 1] + d.busy_s[0, g]
            assert max(tau[g], max(tau[v - 1], now_s) + before) - before > tau[v]


@given(st.integers(0, 2**32), st.integers(1, 25))
def test_where_no_version_is_replaced_ends_are_those_of_the_versions_held(seed: int, slots: int) -> None:
    d = drawn(seed, 1, slots, 4, 0)
    t = earliest_times(d.device[0], d.version[0], d.busy_s[0], d.download_s)
    length_s = t.download_s + d.busy_s[0]
    np.testing.assert_array_equal(earliest_ends(t.version, length_s), t.end_s)


@given(st.integers(0, 2**32), st.integers(1, 25))
def test_whole_shares_are_a_schedule(seed: int, slots: int) -> None:
    d = drawn(seed, 1, slots, 1, 0)
    share = np.zeros((slots, 5))
    share[np.arange(slots), np.arange(slots) - d.version[0]] = 1.0
    ends = earliest_ends(d.version[0], d.busy_s[0])
    np.testing.assert_array_equal(earliest_ends_of_shares(share, d.busy_s[0]), ends)


@pytest.mark.parametrize("shape", [(7,), (3, 7)])
def test_jobs_one_after_another_have_the_times_of_a_fresh_schedule(shape: tuple[int, ...]) -> None:
    length_s = np.random.default_rng(0).exponential(size=shape)
    start_s, end_s = one_after_another(length_s)
    version = np.broadcast_to(np.arange(7), shape)
    t = earliest_times(np.zeros(shape, dtype=np.int64), version, length_s, np.zeros((1, 7)))
    np.testing.assert_allclose(start_s, t.start_s, atol=1e-12)
    np.testing.assert_array_equal(end_s, t.end_s)


@pytest.mark.parametrize("seed", range(5))
def test_slopes_in_lengths_are_differences(seed: int) -> None:
    d = drawn(seed, 1, 15, 3, 0)
    version, length_s = d.version[0], d.busy_s[0]
    weight = np.random.default_rng(seed).normal(size=15)
    slope = slope_in_lengths(version, length_s, weight)
    for g in range(15):
        h = 1e-7 * (np.arange(15) == g)
        change = weight @ (earliest_ends(version, length_s + h) - earliest_ends(version, length_s - h))
        assert slope[g] == pytest.approx(change / 2e-7, abs=1e-5)


def test_a_job_is_shifted_until_it_fits_with_the_transfers_of_its_start() -> None:
    def transfers_s(start_s: float) -> tuple[float, float]:
        return 3.0 - 0.1 * start_s, 2.0

    def until_ten(start_s: float, down_s: float, up_s: float, end_s: float) -> float:
        return 10.0 - end_s if end_s < 10.0 * (1 - 1e-12) else 0.0

    start_s, down_s, up_s, end_s = first_fit(0.0, 1.0, transfers_s, until_ten, 50)
    assert end_s == pytest.approx(10.0)
    assert down_s == pytest.approx(3.0 - 0.1 * start_s)
    assert end_s == start_s + down_s + 1.0 + up_s
