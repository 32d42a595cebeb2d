"""The virtual clock alone: queues of a shared radio, windows, planned uploads."""

from __future__ import annotations

import numpy as np

from dmafl.server.messages import Arrived, Dispatch, Job, Wake
from dmafl.simulation.clock import VirtualClock
from dmafl.world.world import World
from support.scripted_transport import Ready, vector
from support.small_runs import scenario


class Instant:
    """A trainer whose results are there at once."""

    def train(self, job: Job, model: np.ndarray, progress: float) -> Ready:
        return Ready(vector(1.0))


def clock_of(radio: str = "shared", tasks: int = 3) -> VirtualClock:
    small = scenario(
        {f"t{j}": {} for j in range(tasks)}, devices=2, channel={"radio": radio, "kind": "fixed"}
    )
    return VirtualClock(World.resolve(small), Instant())


def order(task: int, device: int = 0, start_s: float = 0.0) -> Dispatch:
    return Dispatch(task, device, start_s, 1, 2, 1e7)


def test_orders_of_a_shared_radio_queue_up() -> None:
    clock = clock_of()
    clock.dispatch(Job(0, order(0), 0, 0), vector(0.0))
    clock.wake(order(1, start_s=1e-6))
    arrived = clock.next_event()
    assert isinstance(arrived, Wake), "the order waits for the download before it, not for the whole job"
    assert clock.now > 1e-6


def test_a_queued_order_of_a_finished_task_does_not_block_the_radio() -> None:
    """The radio is free; whoever is next in its queue goes on."""
    clock = clock_of()
    clock.dispatch(Job(0, order(0), 0, 0), vector(0.0))
    clock.wake(order(1, start_s=1e-6))
    clock.wake(order(2, start_s=2e-6))
    clock.wake(order(0, device=1, start_s=3e-6))
    assert isinstance(clock.next_event(), Wake)  # device 1; by now both orders of device 0 queue
    clock.finished(1)
    event = clock.next_event()
    assert event == Wake(order(2, start_s=2e-6)), (
        "it comes right after the download, before job 0 has arrived"
    )


def test_a_queued_order_of_a_finished_task_does_not_strand_the_next_one() -> None:
    """The same during an upload, after which nothing else of the device frees the radio again."""
    clock = clock_of()
    clock.dispatch(Job(0, order(0), 0, 0), vector(0.0))
    uploading_s = 0.0
    world = clock.world
    zero = np.asarray([0])
    uploading_s += float(world.download_s(zero, zero, zero, np.zeros(1))[0])
    uploading_s += float(world.compute_s(zero, zero, 1, 2, 1e7)[0])
    for task in (1, 2):
        clock.wake(order(task, start_s=uploading_s + 1e-6 * task))
    clock.wake(order(0, device=1, start_s=uploading_s + 1e-5))
    assert isinstance(clock.next_event(), Wake)
    clock.finished(1)
    assert isinstance(clock.next_event(), Arrived)
    event = clock.next_event()
    assert isinstance(event, Wake)
    assert event.dispatch.task == 2


def test_time_never_goes_back() -> None:
    """Wakes that are asked for in any order come in the order of their times, each once."""
    clock = clock_of("own")
    rng = np.random.default_rng(0)
    starts_s = rng.uniform(0, 1, 30).tolist()
    for start_s in starts_s:
        clock.wake(order(int(rng.integers(3)), int(rng.integers(2)), start_s))
    woken_s = []
    while (event := clock.next_event()) is not None:
        assert isinstance(event, Wake)
        assert clock.now == event.dispatch.start_s
        woken_s.append(clock.now)
    assert woken_s == sorted(starts_s)
