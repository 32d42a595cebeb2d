"""What a plan asks of each device, and which of its limits bind."""

from dataclasses import replace

import numpy as np
import pytest

import dmafl
from dmafl.schedule.plan import Plan


def plan(**fleet: object) -> Plan:
    scenario = dmafl.preset("demo", tasks=["mnist"], devices=4, fleet=fleet)
    world = dmafl.World.resolve(scenario)
    return Plan(world, dmafl.round_robin(world, in_flight=2))


def test_joules_and_jobs_are_those_of_the_timeline() -> None:
    made = plan()
    spent_J = made.timeline.uplink_J + made.timeline.compute_J
    assert sum(use.jobs for use in made.devices) == len(made.schedule)
    assert sum(use.energy_J for use in made.devices) == pytest.approx(spent_J.sum())
    assert made.device_table()["device"] == list(made.world.devices.id)
    assert made.table()["device_J"] == [pytest.approx(spent_J.sum())]
    assert made.gap is None


def test_a_battery_that_is_just_enough_binds() -> None:
    free = plan()
    assert "battery" not in {use.binds for use in free.devices}
    needed_J = max(use.energy_J for use in free.devices)
    tight = plan(battery_J=needed_J * (1 + 1e-6))
    binding = [use.device for use in tight.devices if "battery" in use.binds]
    assert binding == [use.device for use in free.devices if use.energy_J > 0.99 * needed_J]
    assert binding


def test_a_clock_at_its_limit_binds() -> None:
    made = plan()
    fast = replace(made.schedule, frequency_Hz=made.world.devices.frequency_max_Hz[made.schedule.device])
    at_limit = Plan(made.world, fast)
    used = set(np.unique(fast.device).tolist())
    assert used == {i for i, use in enumerate(at_limit.devices) if "cpu" in use.binds}


def test_a_gap_is_the_share_above_the_bound() -> None:
    made = replace(plan(), objective=4.0, lower_bound=3.0)
    assert made.gap == 0.25
    assert "gap at most 25.0%" in repr(made) and len(repr(made)) <= 300
    assert "<table>" in made._repr_html_()
