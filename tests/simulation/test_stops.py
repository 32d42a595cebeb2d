"""A scheme run that is stopped at any yield, also while a result is still computed, goes on to the same end."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

import dmafl
from dmafl.schedule.jobs import Schedule
from dmafl.schemes.online import Online
from dmafl.schemes.registry import names_of, scheme_named
from dmafl.schemes.scheduled import scheduled
from dmafl.schemes.scheme import SchemeContext
from dmafl.server.policy import Policy
from dmafl.simulation.scheme_run import SchemeRun
from dmafl.training.workers import Trainers
from dmafl.world.world import World
from support.slow_workers import SlowWorkers
from support.small_runs import MAX_EVENTS, components, scenario


@cache
def world_of(name: str) -> World:
    tasks = {
        "one": {"slots": 5, "drift": {"kind": "growth", "start_fraction": 0.5}},
        "two": {"slots": 3, "cycles_per_sample": 3e6, "idle_max_s": 0.0},
    }
    channel = {"kind": "rayleigh", "radio": "shared" if name == "fedbuff" else "own"}
    short = {"window_s": 0.5} if name == "fedavg-partial" else {}  # devices are lost on the way
    return World.resolve(
        scenario(
            {task: {**own, **short} for task, own in tasks.items()},
            seed=4,
            devices=4,
            channel=channel,
            schemes={"buffer_size": 2},
        )
    )


@cache
def trainers_of(name: str) -> Trainers:
    given = world_of(name).scenario
    return Trainers(given, components(given))


def revised(task: int, jobs: Schedule, kept: int, now: float) -> Schedule:
    """Another number of steps for what is not begun, that depends on when it is asked for."""
    columns = {name: column.copy() for name, column in jobs.columns().items()}
    columns["steps"][columns["slot"] >= kept] = 1 + kept % 3
    return Schedule.from_columns(columns)


def policies_of(name: str, world: World) -> list[Policy]:
    if name in names_of("baseline"):
        return scheme_named(name).policies(SchemeContext(world))
    schedule = dmafl.round_robin(world, in_flight=2)
    if name == "scheduled":
        return scheduled(world, schedule)
    return [Online(world, task, schedule, 2, revised) for task in range(world.task_count)]


class Going:
    """A scheme run that can be stopped after any yield and restored in a new one."""

    def __init__(self, name: str) -> None:
        world = world_of(name)
        trainers = trainers_of(name)
        workers = SlowWorkers(trainers)

        def fresh() -> SchemeRun:
            lab = trainers.of(world.scenario.seed)
            return SchemeRun(name, world, lab, workers, policies_of(name, world))

        self._fresh: Callable[[], SchemeRun] = fresh
        self.scheme_run, self.metrics, self.periods = fresh(), [], []
        self.pending = 0

    def go(self, yields: int = MAX_EVENTS) -> bool:
        """Go on for so many yields; whether it ended before."""
        steps = self.scheme_run.run()
        for _ in range(yields):
            try:
                self.pending += next(steps) is not None
            except StopIteration:
                return True
        return False

    def save(self) -> str:
        """Take the rows; the state, as a file has it."""
        metrics, periods = self.scheme_run.records.take_rows()
        self.metrics += metrics.to_pylist()
        self.periods += periods.to_pylist()
        plain, self._arrays = self.scheme_run.state()
        return json.dumps(plain)

    def restart(self) -> None:
        saved = self.save()
        self.scheme_run = self._fresh()
        self.scheme_run.restore(
            json.loads(saved), {name: array.copy() for name, array in self._arrays.items()}
        )

    def end(self) -> tuple[Any, ...]:
        """Everything that a run writes down in the end."""
        self.save()
        models = [versions.current.tobytes() for versions in self.scheme_run.server.versions]
        return self.metrics, self.periods, self.scheme_run.outcome(), models, self.scheme_run.transport.now


SCHEMES = [*names_of("baseline"), "scheduled", "dma-fl-online"]


@pytest.mark.parametrize("name", SCHEMES)
def test_a_stop_at_every_yield(name: str) -> None:
    """One run for every yield, stopped there."""
    through = Going(name)
    yields = 0
    while not through.go(1):
        yields += 1
        assert yields < MAX_EVENTS
    expected = through.end()
    assert expected[2].tasks
    assert through.pending > 5, "the test would miss what it is for"
    for stop in range(yields + 1):
        stopped = Going(name)
        stopped.go(stop)
        stopped.restart()
        assert stopped.go()
        assert stopped.end() == expected, f"after a stop at yield {stop} of {yields}"


@pytest.mark.parametrize("name", SCHEMES)
def test_stops_at_all_yields(name: str) -> None:
    """One run that is stopped at each of its yields."""
    through, stopped = Going(name), Going(name)
    assert through.go()
    for _ in range(MAX_EVENTS):
        if stopped.go(1):
            break
        stopped.restart()
    assert stopped.end() == through.end()


@pytest.mark.parametrize("name", SCHEMES)
def test_saving_changes_nothing(name: str) -> None:
    """Two states in a row are the same, and a run that looks at its state at every yield ends as one that does not."""
    through, looking = Going(name), Going(name)
    assert through.go()
    steps = looking.scheme_run.run()
    for _ in steps:
        assert json.dumps(looking.scheme_run.state()[0]) == json.dumps(looking.scheme_run.state()[0])
    last = [scheme_run.transport.state(None) for scheme_run in (through.scheme_run, looking.scheme_run)]
    assert looking.end() == through.end()
    assert last[0] == last[1]


def test_fewer_aggregations_than_slots_have_a_reason() -> None:
    whole, lost = Going("fedasync"), Going("fedavg-partial")
    assert whole.go()
    assert lost.go()
    assert whole.scheme_run.shortfall() == "" == lost.scheme_run.shortfall()
    assert any(task.aggregations < task.slots for task in lost.scheme_run.outcome().tasks.values())
    lost.scheme_run.records.losses.clear()
    assert "of task" in lost.scheme_run.shortfall()
