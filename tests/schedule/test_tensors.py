"""The paper's tensors and rect functions against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmafl.base.randomness import generator
from dmafl.schedule.jobs import Schedule
from dmafl.schedule.tensors import (
    active_rect,
    idle_rect,
    receive_tensor,
    schedule_tensor,
    tensor_from_receives_and_uploads,
    upload_tensor,
)
from dmafl.schedule.timeline import replay
from reference.random_worlds import Drawn, draw_executable, draw_world, plain_jobs

seeds = st.integers(0, 2**32 - 1)


def made_of(*jobs: tuple[int, int, int, int]) -> Schedule:
    """A schedule from (device, task, version, slot) alone."""
    rest = {"steps": 5, "batch": 8, "frequency_Hz": 1e8, "start_s": 0.0}
    names = ("device", "task", "version", "slot")
    return Schedule.from_jobs([dict(zip(names, job, strict=True)) | rest for job in jobs])


def staggered(drawn: Drawn, rng: np.random.Generator) -> Schedule:
    """An executable schedule with 1 to K+1 jobs of a task in flight."""
    most = int(drawn.world.max_staleness.min()) + 1
    return draw_executable(drawn.world, rng, in_flight=int(rng.integers(1, most + 1)))


# -- R, U, X ----------------------------------------------------------------------------------------------


def test_tensors_of_a_schedule_by_hand() -> None:
    # Device 0 receives version 0 for slot 1 and version 2 for slot 2; device 1 receives version 0 for slot 0.
    schedule = made_of((0, 0, 0, 1), (0, 0, 2, 2), (1, 0, 0, 0), (1, 1, 0, 0))
    assert receive_tensor(schedule, 0, 2, 3).tolist() == [[1, 0, 1], [1, 0, 0]]
    assert upload_tensor(schedule, 0, 2, 3).tolist() == [[0, 1, 1], [1, 0, 0]]
    X = schedule_tensor(schedule, 0, 2, 3)
    assert [tuple(place) for place in np.argwhere(X).tolist()] == [(0, 0, 1), (0, 2, 2), (1, 0, 0)]
    assert upload_tensor(schedule, 1, 2, 1).tolist() == [[0], [1]]


@given(seeds)
def test_tensors_follow_definition_3(seed: int) -> None:
    rng = generator(seed, "test.tensors")
    drawn = draw_world(rng)
    schedule = staggered(drawn, rng)
    jobs = {(job["task"], job["device"], job["version"], job["slot"]) for job in plain_jobs(schedule)}
    devices = drawn.world.device_count
    for j, slots in enumerate(drawn.world.slots.tolist()):
        R, U = receive_tensor(schedule, j, devices, slots), upload_tensor(schedule, j, devices, slots)
        X = schedule_tensor(schedule, j, devices, slots)
        for i in range(devices):
            for g in range(slots):
                assert R[i, g] == any((j, i, g, up) in jobs for up in range(slots))
                assert U[i, g] == any((j, i, v, g) in jobs for v in range(slots))
                assert [X[i, g, up] for up in range(slots)] == [(j, i, g, up) in jobs for up in range(slots)]


@given(seeds)
def test_fact_1_as_corrected_gives_the_jobs_back(seed: int) -> None:
    rng = generator(seed, "test.fact_1")
    drawn = draw_world(rng)
    schedule = staggered(drawn, rng)
    for j, slots in enumerate(drawn.world.slots.tolist()):
        sizes = (j, drawn.world.device_count, slots)
        R, U = receive_tensor(schedule, *sizes), upload_tensor(schedule, *sizes)
        np.testing.assert_array_equal(
            tensor_from_receives_and_uploads(R, U), schedule_tensor(schedule, *sizes)
        )


def product_form(first: np.ndarray, second: np.ndarray, U: np.ndarray, late: int) -> np.ndarray:
    """first^(g) second^(g') times the product of 1 - U^(k) over k from g + late to g' - 1, for one device."""
    slots = len(U)
    X = np.zeros((slots, slots), dtype=int)
    for g in range(slots):
        for g_up in range(g, slots):
            X[g, g_up] = (
                first[g] * second[g_up] * np.prod([1 - U[k] for k in range(g + late, g_up)], dtype=int)
            )
    return X


@given(seeds)
def test_fact_1_as_corrected_is_the_product_that_it_says(seed: int) -> None:
    R, U = generator(seed, "test.product").integers(0, 2, (2, 1, 5)).astype(np.uint8)
    expected = product_form(R[0].astype(int), U[0].astype(int), U[0].astype(int), late=0)
    np.testing.assert_array_equal(tensor_from_receives_and_uploads(R, U)[0], expected)


def test_fact_1_as_printed_loses_a_job() -> None:
    # One device receives version 0 and completes slot 1: X^{0,1} = 1. As printed, X^{0,1} = U^(0) R^(1) = 0.
    R, U = np.asarray([1, 0]), np.asarray([0, 1])
    assert product_form(U, R, U, late=1).tolist() == [[0, 0], [0, 0]]
    corrected = tensor_from_receives_and_uploads(R[None].astype(np.uint8), U[None].astype(np.uint8))
    assert corrected[0].tolist() == [[0, 1], [0, 0]]


def test_fact_1_with_only_the_swap_undone_makes_a_job_up() -> None:
    # The device completes slot 0 with version 0, then slot 1 with version 1. Starting the product at g + 1 forgets
    # that the first model has been uploaded, and has it complete slot 1 as well.
    R = U = np.asarray([1, 1])
    assert product_form(R, U, U, late=1).tolist() == [[1, 1], [0, 1]]
    corrected = tensor_from_receives_and_uploads(R[None].astype(np.uint8), U[None].astype(np.uint8))
    assert corrected[0].tolist() == [[1, 0], [0, 1]]


# -- y^ID, y^AC --------------------------------------------------------------------------------------------


@given(seeds)
def test_rects_are_disjoint_and_cover_each_stream_until_its_last_upload(seed: int) -> None:
    rng = generator(seed, "test.rects")
    drawn = draw_world(rng)
    schedule = staggered(drawn, rng)
    timeline = replay(drawn.world, schedule)
    time_s = _sampled_times(timeline, rng)
    idle, active = idle_rect(schedule, timeline, time_s), active_rect(schedule, timeline, time_s)
    assert set(np.unique([idle, active]).tolist()) <= {0, 1}
    for i in range(drawn.world.device_count):
        for j in range(drawn.world.task_count):
            rows = (schedule.device == i) & (schedule.task == j)
            covered = idle[rows].sum(axis=0, dtype=int) + active[rows].sum(axis=0, dtype=int)
            last_s = timeline.end_s[rows].max(initial=0.0)
            np.testing.assert_array_equal(covered, time_s < last_s)


@given(seeds)
def test_rects_agree_with_walking_through_the_phases(seed: int) -> None:
    rng = generator(seed, "test.rects")
    drawn = draw_world(rng)
    schedule = staggered(drawn, rng)
    timeline = replay(drawn.world, schedule)
    time_s = _sampled_times(timeline, rng)
    idle, active = idle_rect(schedule, timeline, time_s), active_rect(schedule, timeline, time_s)
    for k in range(len(schedule)):
        begin_s = schedule.start_s[k] - timeline.idle_s[k]
        phases = [("idle", timeline.idle_s[k]), ("idle", timeline.download_s[k])]
        phases += [("active", timeline.compute_s[k]), ("idle", timeline.upload_s[k])]
        expected = {"idle": np.zeros(len(time_s), dtype=int), "active": np.zeros(len(time_s), dtype=int)}
        for kind, duration_s in phases:
            expected[kind] += (begin_s <= time_s) & (time_s < begin_s + duration_s)
            begin_s += duration_s
        np.testing.assert_array_equal(idle[k], expected["idle"])
        np.testing.assert_array_equal(active[k], expected["active"])


def test_rects_integrate_to_the_times_of_the_phases() -> None:
    rng = generator(0, "test.rects")
    drawn = draw_world(rng, kind="fixed", tasks=2)
    schedule = draw_executable(drawn.world, rng)
    timeline = replay(drawn.world, schedule)
    edges_s = _events(timeline)
    middles_s, widths_s = (edges_s[1:] + edges_s[:-1]) / 2, np.diff(edges_s)
    period_s = timeline.idle_s + timeline.download_s + timeline.compute_s + timeline.upload_s
    active_s = active_rect(schedule, timeline, middles_s) @ widths_s
    idle_s = idle_rect(schedule, timeline, middles_s) @ widths_s
    assert active_s == pytest.approx(timeline.compute_s, rel=1e-9)  # rounding of sums of widths
    assert idle_s == pytest.approx(period_s - timeline.compute_s, rel=1e-9)


def _events(timeline: object) -> np.ndarray:
    """All times at which something begins or ends, apart by more than rounding."""
    names = ("compute_start_s", "upload_start_s", "end_s")
    times = [timeline.end_s - timeline.upload_s - timeline.compute_s - timeline.download_s]
    times += [getattr(timeline, name) for name in names]
    instants = np.unique(np.concatenate([[0.0], *times]))
    return instants[np.concatenate([[True], np.diff(instants) > 1e-12 * instants[-1]])]


def _sampled_times(timeline: object, rng: np.random.Generator) -> np.ndarray:
    """Times strictly between events, where rounding cannot matter: each middle, and one at random; and some later."""
    events_s = _events(timeline)
    low, high = events_s[:-1], events_s[1:]
    at_random = low + (high - low) * rng.uniform(0.1, 0.9, len(low))
    return np.concatenate([(low + high) / 2, at_random, events_s[-1] * np.asarray([1.01, 2.0])])
