"""Runs end, and say what they are short of, where devices hardly come, all leave, or change all of the time."""

from __future__ import annotations

from typing import Any

import pytest

from dmafl.schemes.registry import names_of
from dmafl.world.world import World
from support.churn import Times
from support.small_runs import Simulated, scenario, simulate

DEVICES = 3
TASKS = {"a": {"slots": 8, "window_s": 60.0}, "b": {"slots": 4, "window_s": 60.0}}
NIGHT = {"kind": "daily", "from_h": 22.0, "to_h": 6.0}
SETTINGS: dict[str, dict[str, Any]] = {
    "a day of a second": NIGHT | {"day_s": 1.0},
    "a day that begins at night": NIGHT | {"day_s": 2.0, "start_h": 23.0},
    "an hour and a half after midnight": {"kind": "daily", "from_h": 24.0, "to_h": 1.5, "day_s": 2.0},
    "shifted by days": NIGHT | {"day_s": 2.0, "shift_h": {"uniform": [-24.0, 24.0]}},
    "milliseconds at a time": {"kind": "random", "mean_on_s": 0.05, "mean_off_s": 0.005},
}


def completed(run: Simulated) -> list[int]:
    """Aggregations of each task at its last test."""
    last = {row["task"]: row["aggregation"] for row in run.metrics}
    return [last[task] for task in TASKS]


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("scheme", names_of("baseline"))
def test_all_slots_are_completed_in_the_end(scheme: str, name: str) -> None:
    run = simulate(scenario(TASKS, devices=DEVICES, availability=SETTINGS[name]), scheme)
    assert completed(run) == [8, 4]
    assert run.scheme_run.shortfall() == ""


@pytest.mark.parametrize("scheme", names_of("baseline"))
def test_nobody_ever_comes(scheme: str) -> None:
    run = simulate(scenario(TASKS, devices=DEVICES, availability=NIGHT | {"start_h": 12.0}), scheme)
    assert run.periods == [] and completed(run) == [0, 0]
    assert [row["left_s"] for row in run.scheme_run.records.absences] == [0.0] * DEVICES


@pytest.mark.parametrize("scheme", names_of("baseline"))
def test_all_leave_for_good(scheme: str) -> None:
    """Jobs under way are cut off and paid for; nothing happens after that."""
    world = World.resolve(
        scenario(TASKS, devices=DEVICES), availability=Times({i: [(0.0, 0.02)] for i in range(DEVICES)})
    )
    run = simulate(world, scheme)
    assert completed(run) != [8, 4]
    assert {row["outcome"] for row in run.periods} <= {"failed: left", "aggregated", "unfinished"}
    assert max(row["end_s"] for row in run.periods) <= 0.02
    assert [row["joined_s"] for row in run.scheme_run.records.absences] == [None] * DEVICES
    assert run.scheme_run.transport.ledger.consistent()


@pytest.mark.parametrize("scheme", names_of("baseline"))
def test_one_device_stays_alone(scheme: str) -> None:
    world = World.resolve(
        scenario(TASKS, devices=DEVICES), availability=Times({0: [(0.0, 1e6)], 1: [(9e5, 1e6)], 2: []})
    )
    run = simulate(world, scheme)
    assert completed(run) == [8, 4]
    assert {row["device"] for row in run.periods} == {0}
