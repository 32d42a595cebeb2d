"""Events that real devices bring: lost jobs, refused updates, silence, devices that leave and come back."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from dmafl.learning.aggregation import Constant
from dmafl.server.aggregators import Average, MixAtOnce
from dmafl.server.core import MOST_REFUSED
from dmafl.server.messages import Arrived, Job, Joined, Left, Period, Quiet, Tick
from dmafl.server.updates import UpdateCheck
from support.scripted_transport import (
    PERIOD,
    Ready,
    ScriptedPolicy,
    ServerBench,
    arrived,
    failed,
    order,
    vector,
)


def half() -> MixAtOnce:
    return MixAtOnce(0.5, Constant())


def bench_of(*first: int, slots: int = 9, then: int = 0, **settings) -> ServerBench:
    """A server with one task, whose policy orders from devices `first`, then again and again from device `then`."""
    policy = ScriptedPolicy(half(), [order(device) for device in first], [[order(then)]] * 30)
    bench = ServerBench([policy], [slots], **settings)
    bench.handle()
    return bench


def asked(bench: ServerBench) -> list[tuple]:
    return bench.policies[0].asked


def test_every_arrival_has_its_own_period() -> None:
    """Two of them may wait in the transport when the first is handled."""
    bench = bench_of(0, 1)
    a, b = bench.transport.jobs
    periods = [Period(1.0, compute_s=2.0, samples=5, loss=0.5), Period(3.0, uplink_J=4.0)]
    bench.handle(
        *(Arrived(job, Ready(vector(1.0)), period) for job, period in zip((b, a), periods, strict=True))
    )
    assert [(taken.job, taken.period) for taken in bench.notes.updates] == [(b, periods[0]), (a, periods[1])]


def test_nobody_measured_is_not_zero() -> None:
    assert (PERIOD.uplink_J, PERIOD.compute_J, PERIOD.downlink_J, PERIOD.samples, PERIOD.loss) == (None,) * 5


@pytest.mark.parametrize("device_lost", [True, False])
def test_a_failure_says_whether_the_device_is_lost(device_lost: bool) -> None:
    bench = bench_of(0, 1)
    job = bench.transport.jobs[0]
    bench.handle(failed(job, "crash", device_lost))
    assert asked(bench) == [("on_device_lost" if device_lost else "on_job_lost", 0)]
    assert bench.notes.losses == ([(0, 0, "crash")] if device_lost else [])
    assert bench.notes.unfinished == [(job.id, "failed: crash")]
    assert bench.server.in_flight == [2], "the job is ordered anew"
    assert bench.transport.jobs[-1].number == 1


def test_a_lost_job_gives_its_version_back() -> None:
    bench = bench_of(0, 1)
    first, second = bench.transport.jobs
    bench.arrive(second, 1.0)
    assert bench.kept() == [0, 1]
    bench.handle(failed(first, "crash", False))
    assert bench.kept() == [1]


def test_a_failure_that_is_reported_twice_counts_once() -> None:
    bench = bench_of(0, 1)
    job = bench.transport.jobs[0]
    bench.handle(failed(job, "crash", False), failed(job, "crash", False))
    assert asked(bench) == [("on_job_lost", 0)]


def test_quiet_yields_and_changes_nothing() -> None:
    bench = bench_of(0, timeout_s=2.5)
    before = bench.server.state()[0]
    bench.handle(Quiet(), Quiet())
    assert bench.server.state()[0] == before
    assert set(bench.transport.timeouts_s) == {2.5}
    bench.arrive(bench.transport.jobs[0], 4.0)
    assert bench.notes.aggregations[-1] == (0, 1, [2.0])


def test_quiet_ends_a_server_that_is_done_and_no_other() -> None:
    bench = bench_of(0, 1, slots=1)
    bench.transport.queue.append(Quiet())
    assert not bench.idle()
    bench.arrive(bench.transport.jobs[0], 4.0)
    bench.transport.queue.append(Quiet())
    assert bench.idle()


def test_nobody_waits_without_being_asked_to() -> None:
    assert set(bench_of(0).transport.timeouts_s) == {None}


def test_a_tick_is_for_the_recorder() -> None:
    bench = bench_of(0)
    bench.handle(Tick())
    assert bench.notes.ticks == 1


WRONG = {
    UpdateCheck.WRONG_SIZE: np.ones(3, dtype=np.float32),
    UpdateCheck.WRONG_TYPE: np.ones(1, dtype=np.float64),
    UpdateCheck.NORM_TOO_LARGE: vector(100.0),
}


@pytest.mark.parametrize("check", WRONG, ids=lambda check: check.name)
def test_a_refused_update_is_recorded_and_not_mixed_in(check: UpdateCheck) -> None:
    bench = bench_of(0, 1, max_norm=50.0)
    bad, good = bench.transport.jobs
    bench.handle(Arrived(bad, Ready(WRONG[check]), PERIOD))
    assert bench.notes.refused == [(bad.id, check)]
    assert (bench.notes.updates, bench.transport.made, bench.notes.losses) == ([], [], [])
    assert asked(bench) == [("on_job_lost", 0)]
    assert bench.server.in_flight == [2]
    bench.arrive(good, 4.0)
    assert bench.notes.aggregations[-1] == (0, 1, [2.0])


def test_a_refused_update_leaves_a_round_open() -> None:
    policy = ScriptedPolicy(Average(2), [order(0), order(1)], [[order(0)]])
    bench = ServerBench([policy], [3])
    bench.handle()
    a, b = bench.transport.jobs
    bench.handle(Arrived(a, Ready(WRONG[UpdateCheck.WRONG_SIZE]), PERIOD))
    bench.arrive(b, 2.0)
    assert bench.transport.made == []
    bench.arrive(bench.transport.jobs[-1], 4.0)
    assert bench.notes.aggregations[-1] == (0, 1, [3.0])


def test_a_device_that_is_refused_again_and_again_is_lost() -> None:
    bench = bench_of(0)
    for _ in range(MOST_REFUSED - 1):
        bench.handle(Arrived(bench.transport.jobs[-1], Ready(WRONG[UpdateCheck.WRONG_SIZE]), PERIOD))
    bench.arrive(bench.transport.jobs[-1], 1.0)
    assert bench.notes.losses == [], "a good update in between"
    for _ in range(MOST_REFUSED):
        assert bench.notes.losses == []
        bench.handle(Arrived(bench.transport.jobs[-1], Ready(WRONG[UpdateCheck.WRONG_SIZE]), PERIOD))
    assert bench.notes.losses == [(0, 0, "refused")]


@pytest.mark.parametrize(
    ("claim", "check"),
    [
        (lambda job: replace(job, id=99), UpdateCheck.UNKNOWN_JOB),
        (lambda job: Job(99, order(0, task=5), 0, 0), UpdateCheck.UNKNOWN_JOB),
        (lambda job: replace(job, dispatch=order(0, task=1)), UpdateCheck.OTHER_TASK),
        (lambda job: replace(job, dispatch=order(1)), UpdateCheck.OTHER_JOB),
        (lambda job: replace(job, version=3), UpdateCheck.OTHER_JOB),
    ],
)
def test_a_message_about_no_job_under_way_ends_none(claim, check: UpdateCheck) -> None:
    bench = bench_of(0)
    job = bench.transport.jobs[0]
    bench.handle(arrived(claim(job), 4.0))
    assert [refused for _, refused in bench.notes.refused] == [check]
    assert (asked(bench), bench.server.in_flight) == ([], [1])
    bench.arrive(job, 4.0)
    assert bench.notes.aggregations[-1] == (0, 1, [2.0])


def test_an_upload_that_comes_twice_is_taken_once() -> None:
    bench = bench_of(0)
    job = bench.transport.jobs[0]
    bench.handle(arrived(job, 4.0), arrived(job, 4.0))
    assert len(bench.notes.updates) == 1
    assert bench.notes.refused == [(job.id, UpdateCheck.UNKNOWN_JOB)]


def test_what_still_comes_of_a_device_that_left_is_not_mixed_in() -> None:
    bench = bench_of(0, 1, then=1)
    gone, job = bench.transport.jobs
    bench.handle(Left(0))
    assert (bench.notes.losses, bench.server.in_flight) == ([(0, 0, "left")], [2])
    bench.arrive(job, 4.0)
    bench.arrive(bench.transport.jobs[2], 2.0)
    assert bench.kept()[0] == 0, "the job of the device that left has it"
    bench.arrive(gone, 100.0)
    assert bench.notes.refused == [(gone.id, UpdateCheck.GIVEN_UP)]
    assert bench.kept()[0] == 1, "and its version is given back"
    assert bench.notes.aggregations[-1] == (0, 2, [2.0])


def test_a_late_failure_does_not_lose_a_device_that_is_back() -> None:
    bench = bench_of(0, 1)
    gone = bench.transport.jobs[0]
    bench.handle(Left(0), Joined(0), failed(gone, "left"))
    assert asked(bench) == [("on_device_lost", 0), ("on_device_joined", 0)]
    assert bench.notes.unfinished == [(gone.id, "failed: left")], "what it cost is written down all the same"


def test_orders_of_a_device_that_left_do_not_start() -> None:
    policy = ScriptedPolicy(half(), [order(0), order(1, version=1)])
    bench = ServerBench([policy], [9])
    bench.handle()
    bench.handle(Left(1))
    bench.arrive(bench.transport.jobs[0], 4.0)
    assert [job.dispatch.device for job in bench.transport.jobs] == [0]


class Later(Ready):
    """A result that is never there."""

    def done(self) -> bool:
        return False


def test_a_state_with_everything_in_it_comes_back() -> None:
    """Jobs under way, given up and refused, and an upload that waits for its result, which the transport keeps."""
    bench = bench_of(0, 1, 2, 3)
    jobs = bench.transport.jobs
    bench.handle(Left(3), Arrived(jobs[2], Ready(WRONG[UpdateCheck.WRONG_SIZE]), PERIOD))
    bench.handle(Arrived(jobs[1], Later(vector(6.0)), Period(2.0, samples=3)))
    assert bench.server.arrived is not None
    plain, arrays = bench.server.state()
    carried, uploads = bench.transport.state(bench.server.arrived)
    again = ServerBench([ScriptedPolicy(half())], [9])
    again.server.restore(json.loads(json.dumps(plain)), arrays)
    assert again.server.state()[0] == plain
    again.server.arrived = again.transport.restore(
        json.loads(json.dumps(carried)), uploads, lambda *_: vector(0.0)
    )
    again.handle(arrived(jobs[3], 50.0), failed(jobs[0], "crash", False))
    assert again.notes.aggregations == [(0, 1, [3.0])]
    assert again.notes.updates[0].period == Period(2.0, samples=3)
    assert again.notes.refused == [(jobs[3].id, UpdateCheck.GIVEN_UP)]
    assert asked(again) == [("on_idle", 1, True), ("on_job_lost", 0)]
    assert again.server.refused == {(2, 0): 1}
