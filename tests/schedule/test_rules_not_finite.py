"""Numbers that are not finite keep no rule: NaN passes no comparison."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

import dmafl
from dmafl.scenario.toml import from_plain
from dmafl.schedule.checks import Check, exceeds
from dmafl.schedule.jobs import INTEGER_COLUMNS, Schedule
from dmafl.schedule.replayed import Replayed
from dmafl.schedule.rules import RULES, check_schedule
from dmafl.schedule.timeline import Timeline


@pytest.fixture(scope="module")
def world() -> dmafl.World:
    return dmafl.World.resolve(
        from_plain({"preset": "demo", "fleet": {"devices": 4}, "channel": {"radio": "shared"}})
    )


@pytest.fixture(scope="module")
def schedule(world: dmafl.World) -> Schedule:
    return dmafl.round_robin(world)


def broken(checks: tuple[Check, ...]) -> set[str]:
    return {check.name for check in checks if not check.ok}


def test_nan_exceeds_everything_and_infinity_too() -> None:
    assert exceeds(np.asarray([np.nan, np.inf, 1.0, -np.inf]), 1.0).tolist() == [True, True, False, False]
    assert exceeds(np.asarray([0.0]), np.nan).tolist() == [True]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    "column", [field.name for field in fields(Schedule) if field.name not in INTEGER_COLUMNS]
)
def test_decisions_that_are_not_finite_break_a_rule(
    world: dmafl.World, schedule: Schedule, column: str, value: float
) -> None:
    before = broken(check_schedule(world, schedule))
    values = getattr(schedule, column).copy()
    values[len(values) // 2] = value
    assert broken(check_schedule(world, replace(schedule, **{column: values}))) - before


USED = {
    "idle_s": "S3_causality",
    "end_s": "S4_window",
    "compute_start_s": "S5_cpu",
    "uplink_J": "S6_energy",
    "compute_J": "S6_energy",
    "upload_start_s": "S8_radio",
}
"""Numbers of a timeline that a rule compares, and the rule."""


@pytest.mark.parametrize("column", USED)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_timeline_that_is_not_finite_breaks_the_rule_that_reads_it(
    world: dmafl.World, schedule: Schedule, column: str, value: float
) -> None:
    replayed = Replayed.of(world, schedule)
    values = getattr(replayed.timeline, column).copy()
    values[3] = -value if column == "idle_s" else value
    timeline: Timeline = replace(replayed.timeline, **{column: values})
    spoilt = Replayed(world, schedule, timeline)
    with np.errstate(invalid="ignore"):
        violated = broken(tuple(rule(spoilt) for rule in RULES))
    empty = column == "compute_start_s" and value == np.inf
    assert (USED[column] in violated) != empty, "an interval that begins after its end loads nothing"
