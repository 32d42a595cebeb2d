"""Timelines, staleness, final idle time and energies of schedules small enough to do by hand, and by sums."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmafl.base.randomness import generator
from dmafl.scenario.model import Channel, Drift, Fleet, Scenario, Task, constant
from dmafl.schedule.jobs import Schedule, realised_staleness
from dmafl.schedule.timeline import completion_s, energy_J, final_idle_s, replay, stream_order
from dmafl.world.world import World
from reference import slow_checker
from reference.random_worlds import draw_executable, draw_world, plain_jobs, plain_world, sized_to

SUMS = 1e-12
"""Relative difference of the same sum in another order: a few dozen terms of float64."""

LOGARITHMS = 1e-12
"""Relative difference of times from two libraries' logarithms and powers."""

seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module")
def round_world() -> World:
    """Two devices, two tasks, round numbers: 1 s down, 1 s up, 1 s of computing for each step at 10 Hz."""
    task = {
        "model": "custom",
        "parameters": 1,
        "bits_per_parameter": 1.0,
        "cycles_per_sample": constant(10.0),
        "slots": 3,
        "max_staleness": 2,
        "steps_min": 1,
        "steps_max": 9,
        "batch_min": 1,
        "batch_max": 1,
        "samples": 100,
        "window_s": constant(50.0),
    }
    growth = Drift(kind="growth", start_fraction=0.5, idle_rate=1.0, active_rate=0.0)
    by_slot = Drift(kind="growth", start_fraction=0.5, per_aggregation=True)
    return World.resolve(
        Scenario(
            fleet=Fleet(
                devices=2,
                uplink_power_W=constant(1.0),
                downlink_power_W=constant(1.0),
                uplink_bandwidth_Hz=constant(1.0),
                downlink_bandwidth_Hz=constant(1.0),
                capacitance_Js2=constant(1e-16),
                frequency_min_Hz=constant(1.0),
                frequency_max_Hz=constant(100.0),
            ),
            # SNR 1 over 1 Hz: 1 bit/s. Noise of 0 dBm/Hz is 1e-3 W/Hz.
            channel=Channel(
                kind="fixed", noise_dBm_Hz=0.0, uplink_gain=constant(1e-3), downlink_gain=constant(1e-3)
            ),
            tasks={"by_time": Task(**task, drift=growth), "by_slot": Task(**task, drift=by_slot)},
        )
    )


def job(device: int, task: int, version: int, slot: int, steps: float, start_s: float) -> dict:
    names = ("device", "task", "version", "slot", "steps", "start_s")
    values = (device, task, version, slot, steps, start_s)
    return dict(zip(names, values, strict=True)) | {"batch": 1, "frequency_Hz": 10.0}


@pytest.fixture(scope="module")
def round_schedule() -> Schedule:
    """Listed out of order on purpose. Device 0: by_time at 0-4 and 7-10; device 1: by_time at 1-6, by_slot at 2-5."""
    return Schedule.from_jobs(
        [
            job(0, 0, 2, 2, 1, 7.0),
            job(1, 0, 0, 1, 3, 1.0),
            job(0, 0, 0, 0, 2, 0.0),
            job(1, 1, 1, 2, 1, 2.0),
        ]
    )


def test_local_periods_by_hand(round_world: World, round_schedule: Schedule) -> None:
    timeline = replay(round_world, round_schedule)
    expected = {
        "idle_s": [3.0, 1.0, 0.0, 2.0],
        "download_s": [1.0, 1.0, 1.0, 1.0],
        "compute_s": [1.0, 3.0, 2.0, 1.0],
        "upload_s": [1.0, 1.0, 1.0, 1.0],
        "compute_start_s": [8.0, 2.0, 1.0, 3.0],
        "upload_start_s": [9.0, 5.0, 3.0, 4.0],
        "end_s": [10.0, 6.0, 4.0, 5.0],
        "uplink_J": [1.0, 1.0, 1.0, 1.0],
        "downlink_J": [1.0, 1.0, 1.0, 1.0],
        "compute_J": [1e-13, 3e-13, 2e-13, 1e-13],  # 1e-16 * 10 cycles * steps * (10 Hz)^2
    }
    for name, values in expected.items():
        np.testing.assert_allclose(getattr(timeline, name), values, rtol=SUMS, atol=0.0, err_msg=name)


def test_samples_by_hand(round_world: World, round_schedule: Schedule) -> None:
    # by_time grows by 1 a second, except while it computes: at 8 s, of which 2 were computing, 50 + 6; at 2 s 50 + 2;
    # at 1 s 50 + 1. by_slot grows by 25 a version: version 1 has 75.
    assert replay(round_world, round_schedule).samples.tolist() == [56, 52, 51, 75]


def test_completion_final_idle_and_staleness_by_hand(round_world: World, round_schedule: Schedule) -> None:
    timeline = replay(round_world, round_schedule)
    tau_s, offsets = completion_s(round_world, round_schedule, timeline.end_s)
    np.testing.assert_allclose(tau_s, [4.0, 6.0, 10.0, np.inf, np.inf, 5.0], rtol=SUMS)
    assert offsets.tolist() == [0, 3, 6]
    # What is left of 50 s; all of it where a device does nothing for a task.
    final = final_idle_s(round_world, round_schedule, timeline)
    np.testing.assert_allclose(final, [[40.0, 50.0], [44.0, 45.0]], rtol=SUMS)
    assert round_schedule.staleness.tolist() == [0, 1, 0, 1]
    assert realised_staleness(round_schedule, 2).tolist() == [1, 1]


def test_slot_with_several_jobs_completes_with_the_earliest(round_world: World) -> None:
    schedule = Schedule.from_jobs([job(0, 0, 0, 0, 5, 0.0), job(1, 0, 0, 0, 1, 0.0), job(0, 0, 0, 7, 1, 0.0)])
    tau_s, _ = completion_s(round_world, schedule, replay(round_world, schedule).end_s)
    assert tau_s[0] == pytest.approx(3.0, rel=SUMS)
    assert np.isinf(tau_s[1:]).all()  # slot 7 does not exist


def test_streams_are_ordered_by_slot_then_version(round_schedule: Schedule) -> None:
    order, goes_on = stream_order(round_schedule, 2)
    assert order.tolist() == [2, 0, 1, 3]
    assert goes_on.tolist() == [0, 1, 0, 0]


def test_task_without_jobs_has_staleness_zero(round_schedule: Schedule) -> None:
    assert realised_staleness(round_schedule.take([0, 2]), 3).tolist() == [0, 0, 0]


@given(seeds)
def test_timeline_agrees_with_plain_loops(seed: int) -> None:
    rng = generator(seed, "test.timeline")
    drawn = draw_world(rng, kind="fixed")
    schedule = draw_executable(drawn.world, rng)
    drawn = sized_to(drawn, schedule, rng)
    timeline = replay(drawn.world, schedule)
    gains = {"uplink": drawn.world.devices.uplink_gain, "downlink": drawn.world.devices.downlink_gain}
    expected = slow_checker.replay(
        plain_world(drawn.world),
        lambda direction, i, j, index: float(gains[direction][i]),
        plain_jobs(schedule),
    )
    latest_s = float(timeline.end_s.max())
    for name in (
        "idle_s",
        "download_s",
        "compute_s",
        "upload_s",
        "end_s",
        "uplink_J",
        "compute_J",
        "downlink_J",
    ):
        values = [job[name] for job in expected]
        # Idle times are differences of times: their rounding is relative to the times.
        atol = LOGARITHMS * latest_s if name == "idle_s" else 0.0
        np.testing.assert_allclose(getattr(timeline, name), values, rtol=LOGARITHMS, atol=atol, err_msg=name)
    assert timeline.samples.tolist() == [job["samples"] for job in expected]


@given(seeds)
def test_energy_table_adds_up_to_the_columns(seed: int) -> None:
    rng = generator(seed, "test.energy")
    drawn = draw_world(rng)
    schedule = draw_executable(drawn.world, rng)
    timeline = replay(drawn.world, schedule)
    table_J = energy_J(drawn.world, schedule, timeline)
    columns = (timeline.uplink_J, timeline.compute_J, timeline.downlink_J)
    assert table_J.shape == (drawn.world.device_count, drawn.world.task_count, 3)
    np.testing.assert_allclose(table_J.sum(axis=(0, 1)), [column.sum() for column in columns], rtol=SUMS)
    for i in range(drawn.world.device_count):
        for j in range(drawn.world.task_count):
            rows = (schedule.device == i) & (schedule.task == j)
            np.testing.assert_allclose(table_J[i, j], [column[rows].sum() for column in columns], rtol=SUMS)


@given(seeds)
def test_periods_and_final_idle_time_fill_the_window(seed: int) -> None:
    rng = generator(seed, "test.window")
    drawn = draw_world(rng)
    schedule = draw_executable(drawn.world, rng)
    drawn = sized_to(drawn, schedule, rng)
    timeline = replay(drawn.world, schedule)
    filled_s = final_idle_s(drawn.world, schedule, timeline)
    assert (filled_s >= 0).all()
    for duration_s in (timeline.idle_s, timeline.download_s, timeline.compute_s, timeline.upload_s):
        np.add.at(filled_s, (schedule.device, schedule.task), duration_s)
    np.testing.assert_allclose(filled_s, drawn.world.devices.window_s, rtol=SUMS)  # Eq. (QoE)


@given(seeds)
def test_realised_staleness_is_the_largest_of_each_task(seed: int) -> None:
    rng = generator(seed, "test.staleness")
    drawn = draw_world(rng)
    schedule = draw_executable(drawn.world, rng)
    realised = realised_staleness(schedule, drawn.world.task_count)
    for j in range(drawn.world.task_count):
        assert realised[j] == max(
            job["slot"] - job["version"] for job in plain_jobs(schedule) if job["task"] == j
        )
    assert (realised <= drawn.world.max_staleness).all()
