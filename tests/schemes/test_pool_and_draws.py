"""Who is drawn, after how long, and with which resources."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy import stats

from dmafl.base.errors import BadInput
from dmafl.schemes import fedasync
from dmafl.schemes.asynchronous import UniformIdle
from dmafl.schemes.draws import Drawn
from dmafl.schemes.mixing import mix_at_once
from dmafl.schemes.pool import IdlePool
from dmafl.schemes.registry import NAMES, check_name
from dmafl.schemes.scheme import SchemeContext
from dmafl.server.messages import Left
from dmafl.world.world import World
from support.scripted_transport import ServerBench, failed
from support.small_runs import scenario

ALARM = 1e-4
"""A correct draw fails a test of goodness of fit with this probability; the seeds are fixed, so it does not flicker."""


def test_a_device_is_drawn_uniformly() -> None:
    pool = IdlePool(12, 5, "fedasync.device", 0)
    counts = Counter()
    for _ in range(12_000):
        device, _ = pool.draw()
        counts[device] += 1
        pool.put_back(device)
    assert stats.chisquare([counts[i] for i in range(12)]).pvalue > ALARM


def test_a_device_is_drawn_uniformly_among_those_that_are_in() -> None:
    """Whatever has been taken out and put back before: pairs of draws without replacement are uniform too."""
    pool = IdlePool(6, 1, "fedasync.device", 2)
    for device in (4, 1):
        pool.remove(device)
    pool.remove(4)
    counts = Counter()
    for _ in range(6_000):
        a, b = pool.draw()[0], pool.draw()[0]
        counts[a, b] += 1
        pool.put_back(a)
        pool.put_back(b)
        pool.put_back(b)
    pairs = [(a, b) for a in (0, 2, 3, 5) for b in (0, 2, 3, 5) if a != b]
    assert set(counts) == set(pairs)
    assert stats.chisquare([counts[pair] for pair in pairs]).pvalue > ALARM


def test_the_pool_comes_back_from_its_state() -> None:
    pool, again = IdlePool(9, 3, "x", 0), IdlePool(9, 3, "x", 0)
    for _ in range(4):
        pool.draw()
    again.restore(pool.state())
    assert [pool.draw() for _ in range(5)] == [again.draw() for _ in range(5)]
    assert len(pool) == 0


def test_seeds_and_tasks_draw_differently() -> None:
    draws = {(seed, task): IdlePool(50, seed, "x", task).draw()[0] for seed in range(10) for task in range(3)}
    assert len(set(draws.values())) > 10


def test_idle_times_are_uniform() -> None:
    world = World.resolve(scenario({"one": {"idle_max_s": 7.0, "max_staleness": 0}}, devices=5))
    policy = fedasync.SCHEME.policies(SchemeContext(world))[0]
    (order,) = policy.begin()
    idle_s = [order.start_s]
    for now in range(100, 3100):
        (order,) = policy.on_idle(order.device, float(now), True)
        idle_s.append(order.start_s - now)
    assert stats.kstest(idle_s, stats.uniform(0, 7.0).cdf).pvalue > ALARM
    assert 0 <= min(idle_s) <= max(idle_s) <= 7.0


def test_resources_are_drawn_within_their_ranges_and_reach_their_ends() -> None:
    tasks = {"a": {"steps_max": 3}, "b": {"batch_min": 4, "batch_max": 5}}
    world = World.resolve(scenario(tasks, devices=2000))
    drawn = Drawn.of(world)
    assert drawn.steps.shape == drawn.batch.shape == drawn.frequency_Hz.shape == (2000, 2)
    for column, low, high in (
        (drawn.steps[:, 0], 1, 3),
        (drawn.steps[:, 1], 1, 4),
        (drawn.batch[:, 0], 2, 6),
        (drawn.batch[:, 1], 4, 5),
    ):
        assert set(column.tolist()) == set(range(low, high + 1))
        assert stats.chisquare(np.bincount(column)[low:]).pvalue > ALARM
    low_Hz = world.devices.frequency_min_Hz[:, None]
    high_Hz = world.devices.frequency_max_Hz[:, None] / 2
    share = (drawn.frequency_Hz - low_Hz) / (high_Hz - low_Hz)
    assert stats.kstest(share.ravel(), "uniform").pvalue > ALARM
    assert stats.spearmanr(share[:, 0], share[:, 1]).pvalue > ALARM, "tasks are independent"


def test_draws_depend_on_the_seed_alone() -> None:
    one = [Drawn.of(World.resolve(scenario({"a": {}, "b": {}}, seed=3))) for _ in range(2)]
    other = Drawn.of(World.resolve(scenario({"a": {}, "b": {}}, seed=4)))
    for name in ("steps", "batch", "frequency_Hz"):
        assert getattr(one[0], name).tolist() == getattr(one[1], name).tolist()
    assert one[0].frequency_Hz.tolist() != other.frequency_Hz.tolist()


def test_a_frequency_that_cannot_be_shared_is_refused() -> None:
    fleet = {"frequency_min_Hz": 6e7, "frequency_max_Hz": 1e8}
    with pytest.raises(BadInput, match=r"frequency_min_Hz.*at most frequency_max_Hz / J"):
        Drawn.of(World.resolve(scenario({"a": {}, "b": {}}, fleet=fleet)))


@pytest.mark.parametrize("name", ["fedasink", "FedAvg", ""])
def test_an_unknown_scheme_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match=r"scheme.*must be one of dma-fl"):
        check_name(name)
    for known in NAMES:
        check_name(known)


def uniform_idle(devices: int, max_staleness: int) -> UniformIdle:
    world = World.resolve(scenario({"one": {"max_staleness": max_staleness, "slots": 50}}, devices=devices))
    return UniformIdle(world, 0, Drawn.of(world), mix_at_once(world.scenario.tasks["one"]))


def in_flight(bench: ServerBench) -> int:
    return bench.server.in_flight[0]


def test_an_idle_device_that_leaves_frees_no_place() -> None:
    """At most K+1 jobs are in flight, whoever leaves."""
    bench = ServerBench([uniform_idle(6, 1)], [50])
    bench.handle()
    assert in_flight(bench) == 2
    idle = set(range(6)) - {job.dispatch.device for job in bench.transport.jobs}
    bench.handle(Left(idle.pop()))
    assert in_flight(bench) == 2


def test_a_busy_device_that_leaves_frees_one_place() -> None:
    """A transport reports that the device left, and that its job failed: one place, not two."""
    bench = ServerBench([uniform_idle(6, 1)], [50])
    bench.handle()
    gone = bench.transport.jobs[0]
    bench.handle(Left(gone.dispatch.device), failed(gone, "left"))
    assert in_flight(bench) == 2
    bench = ServerBench([uniform_idle(6, 1)], [50])
    bench.handle()
    gone = bench.transport.jobs[0]
    bench.handle(failed(gone, "left"), Left(gone.dispatch.device))
    assert in_flight(bench) == 2


def test_a_place_that_nobody_could_take_goes_to_a_device_that_joins() -> None:
    from dmafl.server.messages import Joined

    bench = ServerBench([uniform_idle(2, 1)], [50])
    bench.handle()
    a, b = bench.transport.jobs
    bench.handle(failed(a, "left"), failed(b, "left"))
    assert in_flight(bench) == 0
    bench.handle(Joined(1))
    assert in_flight(bench) == 1
