"""Every scheme completes its slots among devices that fail, leave, come back and send nonsense."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

import dmafl
from dmafl.schedule.jobs import Schedule
from dmafl.schemes.online import Online
from dmafl.schemes.online_around import OnlineAround
from dmafl.schemes.registry import names_of, scheme_named
from dmafl.schemes.scheduled import scheduled
from dmafl.schemes.scheme import SchemeContext
from dmafl.server.core import Server
from dmafl.server.policy import Policy
from dmafl.world.world import World
from support.scripted_transport import Notes, vector
from support.small_runs import scenario
from support.unruly_devices import CHANCES, UnrulyDevices

DEVICES, SEEDS = 4, range(12)
MOST_EVENTS = 5_000
AROUND = "dma-fl-online around absent devices"
SCHEMES = [*names_of("baseline"), "scheduled", "dma-fl-online", AROUND]


@cache
def world() -> World:
    tasks = {"one": {"slots": 8, "max_staleness": 1}, "two": {"slots": 5}}
    return World.resolve(scenario(tasks, devices=DEVICES, schemes={"buffer_size": 2}))


def as_planned(task: int, jobs: Schedule, kept: int, now: float) -> Schedule:
    """A revision that changes nothing."""
    return jobs


def policies_of(name: str) -> list[Policy]:
    if name in names_of("baseline"):
        return scheme_named(name).policies(SchemeContext(world()))
    schedule = dmafl.round_robin(world(), in_flight=2)
    if name == "scheduled":
        return scheduled(world(), schedule)
    tasks = range(world().task_count)
    if name == AROUND:
        return [OnlineAround(world(), task, schedule, 2, lambda moment: moment.jobs) for task in tasks]
    return [Online(world(), task, schedule, 2, as_planned) for task in tasks]


class Going:
    """A server among unruly devices, which can be stopped and restored after any event."""

    def __init__(self, name: str, seed: int, may: Sequence[str] = tuple(CHANCES)) -> None:
        self.notes, self._name, self._seed, self._may = Notes(), name, seed, may
        self._begin()

    def _begin(self) -> None:
        self.transport = UnrulyDevices(DEVICES, self._seed, self._may)
        first = [vector(0.0, 0.0) for _ in range(world().task_count)]
        self.server = Server(
            first, world().slots.tolist(), policies_of(self._name), self.transport, self.notes
        )
        self.steps = self.server.run()

    def restart(self) -> None:
        plain, arrays = self.server.state()
        carried, uploads = self.transport.state(self.server.arrived)
        arrays = {name: array.copy() for name, array in arrays.items()}
        self._begin()
        self.server.restore(json.loads(json.dumps(plain)), arrays)
        versions = self.server.versions
        self.transport.restore(
            json.loads(json.dumps(carried)), uploads, lambda task, version: versions[task].received(version)
        )

    def go(self, restarting: bool = False) -> Counter[str]:
        """Until all slots are complete; what happened on the way."""
        happened: Counter[str] = Counter()
        for _ in range(MOST_EVENTS):
            if all(self.server.done(task) for task in range(world().task_count)):
                return happened
            assert next(self.steps, "ended") is None, "it ended before its time"
            self._check()
            happened.update(self.transport.happened)
            self.transport.happened.clear()
            if restarting:
                self.restart()
        raise AssertionError(f"slots are open after {MOST_EVENTS} events: {happened}")

    def _check(self) -> None:
        """Server and transport agree on the jobs under way, and every version that is kept has a job."""
        assert set(self.server.under_way) == set(self.transport.jobs)
        assert set(self.server.given_up) == {job.id for job in self.transport.late}
        for task, versions in enumerate(self.server.versions):
            jobs = [*self.server.under_way.values(), *self.server.given_up.values()]
            held = Counter(job.version for job in jobs if job.dispatch.task == task)
            assert versions.borrowed == held

    def end(self) -> tuple[Any, ...]:
        taken = [(update.job, update.slot, update.weight) for update in self.notes.updates]
        return taken, self.notes.aggregations, self.notes.losses, self.notes.refused, self.notes.unfinished


@pytest.mark.parametrize("name", SCHEMES)
def test_slots_are_completed_whatever_devices_do(name: str) -> None:
    happened: Counter[str] = Counter()
    for seed in SEEDS:
        going = Going(name, seed)
        happened += going.go()
        versions = [(task, version) for task, version, _ in going.notes.aggregations]
        assert sorted(versions) == [
            (task, version) for task in range(2) for version in range(world().slots[task] + 1)
        ]
        sizes = {update.local.size for update in going.notes.updates}
        assert sizes == {2}, "nonsense is never taken"
    assert set(happened) == set(CHANCES), "the test would miss what it is for"
    assert len(going.notes.refused) <= happened["nonsense"]


@pytest.mark.parametrize("name", SCHEMES)
def test_jobs_that_are_lost_are_done_again(name: str) -> None:
    """Nobody leaves and nobody joins, so that nothing else could bring a lost job back."""
    happened: Counter[str] = Counter()
    for seed in SEEDS:
        going = Going(name, seed, ("wake", "arrive", "lose job"))
        happened += going.go()
        assert going.notes.losses == []
    assert happened["lose job"] > len(SEEDS)


@pytest.mark.parametrize("name", SCHEMES)
def test_a_stop_after_every_event_changes_nothing(name: str) -> None:
    for seed in (3, 4):
        through, stopped = Going(name, seed), Going(name, seed)
        through.go()
        stopped.go(restarting=True)
        assert stopped.end() == through.end()
