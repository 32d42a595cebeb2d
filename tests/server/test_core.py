"""The server core between a scripted transport and scripted policies: what it does with each event."""

from __future__ import annotations

import numpy as np
import pytest

from dmafl.learning.aggregation import Constant
from dmafl.schemes.synchronous import Rounds
from dmafl.server.aggregators import Aggregator, Average, Buffer, MixAtOnce
from dmafl.server.messages import Joined, Left
from support.scripted_transport import ScriptedPolicy, ServerBench, arrived, failed, order, vector


def half() -> MixAtOnce:
    return MixAtOnce(0.5, Constant())


def test_the_first_model_is_recorded_and_the_first_orders_are_sent() -> None:
    bench = ServerBench([ScriptedPolicy(half(), [order(0), order(1)])], [3])
    bench.handle()
    assert bench.notes.aggregations == [(0, 0, [0.0])]
    assert [(job.dispatch.device, job.version, job.number) for job in bench.transport.jobs] == [
        (0, 0, 0),
        (1, 0, 0),
    ]


def test_an_update_is_aggregated_at_once_and_the_policy_is_asked() -> None:
    policy = ScriptedPolicy(half(), [order(0), order(1)], [[order(2)]])
    bench = ServerBench([policy], [3])
    bench.handle()
    bench.arrive(bench.transport.jobs[1], 8.0)
    assert bench.notes.aggregations[-1] == (0, 1, [4.0])
    assert bench.transport.made == [(0, 1)]
    assert policy.asked == [("on_idle", 1, True)]
    assert bench.transport.jobs[-1].dispatch.device == 2
    assert bench.transport.jobs[-1].version == 1
    assert bench.transport.models[bench.transport.jobs[-1].id].tolist() == [4.0]


def test_late_and_out_of_order_updates_have_their_true_staleness() -> None:
    bench = ServerBench([ScriptedPolicy(half(), [order(i) for i in range(3)])], [9])
    bench.handle()
    for job in reversed(bench.transport.jobs):
        bench.arrive(job, 1.0)
    assert [(taken.slot, taken.staleness) for taken in bench.notes.updates] == [(0, 0), (1, 1), (2, 2)]


@pytest.mark.parametrize("broken", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    ("aggregator", "expected"),
    [(half(), 7.0), (Average(2), 7.0), (Buffer(2, Constant(), 1.0), 12.0)],
    ids=["at once", "round", "buffer"],
)
def test_a_model_that_is_not_finite_takes_its_place_and_changes_nothing(
    aggregator: Aggregator, expected: float, broken: float
) -> None:
    """By hand: the global model went from 0, which all have received, to 10; a broken model and one of 4 follow, of
    weight 1/2 each. Mixing and averaging give (10 + 4)/2: the broken one counts as 10, not as the 0 that it was made
    of. A buffer gives 10 + (4 - 0)/2."""
    policy = ScriptedPolicy(aggregator, [order(0), order(1)])
    bench = ServerBench([policy], [4])
    bench.handle()
    bench.server.versions[0].replace(vector(10.0))
    bench.arrive(bench.transport.jobs[0], broken)
    assert bench.server.versions[0].current.tolist() == [10.0]
    bench.arrive(bench.transport.jobs[1], 4.0)
    assert bench.notes.aggregations[-1][2] == [expected]
    assert [(taken.finite, taken.weight) for taken in bench.notes.updates] == [(False, 0.0), (True, 0.5)]
    at_once = isinstance(aggregator, MixAtOnce)
    assert bench.transport.made == ([(0, 2), (0, 3)] if at_once else [(0, 2)])
    assert policy.asked == [("on_idle", 0, at_once), ("on_idle", 1, True)]


def test_a_buffering_aggregator_waits() -> None:
    policy = ScriptedPolicy(Average(2), [order(0), order(1)])
    bench = ServerBench([policy], [2])
    bench.handle()
    bench.arrive(bench.transport.jobs[0], 2.0)
    assert bench.transport.made == []
    assert not bench.notes.updates[0].aggregated
    bench.arrive(bench.transport.jobs[1], 4.0)
    assert bench.notes.aggregations[-1] == (0, 1, [3.0])
    assert policy.asked == [("on_idle", 0, False), ("on_idle", 1, True)]


def test_a_failed_job_is_dispatched_again() -> None:
    policy = ScriptedPolicy(half(), [order(0)], [[order(1)]])
    bench = ServerBench([policy], [2])
    bench.handle()
    bench.handle(failed(bench.transport.jobs[0], "battery"))
    assert bench.notes.losses == [(0, 0, "battery")]
    assert policy.asked == [("on_device_lost", 0)]
    assert [job.dispatch.device for job in bench.transport.jobs] == [0, 1]
    assert bench.server.in_flight == [1]
    assert bench.kept() == [0]


def test_a_device_that_leaves_is_lost_to_every_task() -> None:
    policies = [ScriptedPolicy(half(), [order(0, task)], [[order(1, task)]]) for task in range(2)]
    bench = ServerBench(policies, [2, 2])
    bench.handle()
    bench.handle(Left(0))
    assert [policy.asked for policy in policies] == [[("on_device_lost", 0)], [("on_device_lost", 0)]]
    assert [(job.dispatch.task, job.dispatch.device) for job in bench.transport.jobs[2:]] == [(0, 1), (1, 1)]


def test_a_device_that_comes_back_is_offered_to_every_task() -> None:
    policy = ScriptedPolicy(half(), [order(0)], [[order(3)]])
    bench = ServerBench([policy], [2])
    bench.handle()
    bench.handle(Joined(3))
    assert policy.asked == [("on_device_joined", 3)]
    assert bench.transport.jobs[-1].dispatch.device == 3


def test_an_order_that_is_refused_goes_to_another_device() -> None:
    policy = ScriptedPolicy(half(), [order(0)], [[order(1)], [order(2)]])
    bench = ServerBench([policy], [2], refused={0: "window", 1: "battery"})
    bench.handle()
    assert bench.notes.losses == [(0, 0, "window"), (0, 1, "battery")]
    assert [dispatch.device for dispatch in bench.transport.orders] == [2]


def test_a_server_without_devices_ends() -> None:
    bench = ServerBench([ScriptedPolicy(half(), [order(0)])], [2], refused={0: "battery"})
    assert bench.idle()
    assert not bench.server.done(0)


def test_only_versions_that_somebody_has_are_kept() -> None:
    policy = ScriptedPolicy(half(), [order(0), order(1)], [[order(2)]] + [[order(0)]] * 40)
    bench = ServerBench([policy], [50])
    bench.handle()
    slow, *_ = bench.transport.jobs
    for _ in range(40):
        bench.arrive(bench.transport.jobs[-1], 1.0)
        assert len(bench.kept()) <= bench.server.in_flight[0] + 1
        assert bench.kept()[0] == slow.version
        assert bench.kept()[-1] == bench.server.versions[0].number
    bench.arrive(slow, 1.0)
    assert bench.kept()[0] > slow.version
    assert bench.notes.updates[-1].staleness == 40


def test_two_jobs_with_one_version_keep_it_until_both_are_back() -> None:
    bench = ServerBench([ScriptedPolicy(half(), [order(0), order(1), order(2)])], [9])
    bench.handle()
    for job, kept in zip(bench.transport.jobs, ([0, 1], [0, 2], [3]), strict=True):
        bench.arrive(job, 1.0)
        assert bench.kept() == kept


def test_an_order_waits_for_the_version_it_names() -> None:
    bench = ServerBench([ScriptedPolicy(half(), [order(0), order(1), order(2, version=2, slot=3)])], [9])
    bench.handle()
    assert [job.dispatch.device for job in bench.transport.jobs] == [0, 1]
    bench.arrive(bench.transport.jobs[0], 1.0)
    assert len(bench.transport.jobs) == 2
    bench.arrive(bench.transport.jobs[1], 1.0)
    assert (bench.transport.jobs[2].dispatch.device, bench.transport.jobs[2].version) == (2, 2)


def test_an_order_whose_version_cannot_come_starts_in_the_end() -> None:
    bench = ServerBench(
        [ScriptedPolicy(half(), [order(0, version=5, slot=5), order(1, version=3, slot=3)])], [9]
    )
    bench.handle()
    assert bench.transport.jobs == []
    assert not bench.idle()
    assert [job.dispatch.device for job in bench.transport.jobs] == [1]


def test_a_finished_task_starts_nothing_more() -> None:
    policy = ScriptedPolicy(half(), [order(0), order(1), order(2, version=9)], [[order(3)]])
    bench = ServerBench([policy], [1])
    bench.handle()
    bench.arrive(bench.transport.jobs[0], 1.0)
    assert bench.transport.ended == [0]
    assert policy.asked == []
    assert bench.kept() == [1]
    assert bench.server.orders.take_earliest(0) is None
    bench.handle(Left(1), Joined(1))
    assert bench.notes.losses == []


@pytest.mark.parametrize("kind", ["arrived", "failed"])
def test_a_finished_task_ignores_what_comes_too_late(kind: str) -> None:
    """A real device's upload may be under way when the last slot completes."""
    bench = ServerBench([ScriptedPolicy(half(), [order(0), order(1)])], [1])
    bench.handle()
    first, late = bench.transport.jobs
    bench.arrive(first, 2.0)
    bench.handle(arrived(late, 9.0) if kind == "arrived" else failed(late, "left"))
    assert bench.notes.aggregations[-1] == (0, 1, [1.0])
    assert len(bench.notes.updates) == 1


class _Fleet:
    """What `Rounds` needs of a world and of draws."""

    device_count = 3

    def order(self, device: int, task: int, start_s: float):
        return order(device, task, start_s=start_s)


def rounds(arrivals: int) -> Rounds:
    return Rounds(_Fleet(), 0, _Fleet(), arrivals)  # type: ignore[arg-type]


def test_a_round_that_waited_for_a_lost_device_completes() -> None:
    bench = ServerBench([rounds(3)], [3])
    bench.handle()
    a, b, c = bench.transport.jobs
    bench.arrive(a, 2.0)
    bench.arrive(b, 4.0)
    assert bench.transport.made == []
    bench.handle(failed(c, "battery"))
    assert bench.notes.aggregations[-1] == (0, 1, [3.0])
    assert [job.dispatch.device for job in bench.transport.jobs[3:]] == [0, 1]
    bench.arrive(bench.transport.jobs[3], 1.0)
    bench.arrive(bench.transport.jobs[4], 2.0)
    assert bench.notes.aggregations[-1] == (0, 2, [1.5])


def test_a_round_goes_on_when_devices_are_refused() -> None:
    bench = ServerBench([rounds(3)], [3], refused={1: "battery"})
    bench.handle()
    bench.arrive(bench.transport.jobs[0], 2.0)
    bench.arrive(bench.transport.jobs[1], 4.0)
    assert bench.notes.aggregations[-1] == (0, 1, [3.0])


def test_the_state_comes_back(tmp_path) -> None:
    policies = [ScriptedPolicy(Average(2), [order(0), order(1), order(2, version=2)])]
    bench = ServerBench(policies, [3])
    bench.handle()
    bench.arrive(bench.transport.jobs[0], 2.0)
    plain, arrays = bench.server.state()
    again = ServerBench([ScriptedPolicy(Average(2))], [3])
    again.server.restore(plain, arrays)
    assert again.server.state()[0] == plain
    again.arrive(bench.transport.jobs[1], 4.0)
    assert again.notes.aggregations == [(0, 1, [3.0])]
    assert again.server.versions[0].current.dtype == np.float32
