"""Sizing: the plan that `dmafl.plan` gives, what it asks of devices, its front, and seeds that confirm it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import dmafl
from dmafl.base.watching import Watcher
from dmafl.experiments.sizing.plan_piece import PlanWork
from dmafl.planning.infeasible import Infeasible
from dmafl.scenario.asking import asked_for
from dmafl.scenario.keys import with_values
from support.sizings import EFFORT, shipped, sized, small

GOAL = {"mnist": 0.6}


class Counting(Watcher):
    """Counts the pieces that are done."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def ended(self, name: str, piece: str, problem: str = "") -> None:
        assert not problem
        self.done.append(f"{name}: {piece}")


def test_the_plan_is_that_of_the_planner_and_devices_add_up_to_it(tmp_path: Path) -> None:
    scenario = small(("mnist", "fashion_mnist"))
    sizing = sized(scenario, accuracy=GOAL, output=tmp_path, times_per_day=4)
    asked = asked_for(scenario, {"accuracy": GOAL})
    known = PlanWork(asked, shipped(), tmp_path).measured_for(
        asked
    )  # tasks have other numbers than in the demo
    plan = dmafl.plan(asked, measured=known, effort=EFFORT)
    assert np.array_equal(sizing.plan.schedule.device, plan.schedule.device)
    assert sizing.plan.objective == plan.objective
    assert all(check.ok for check in dmafl.verify_plan(tmp_path / "plan.json"))

    times, summary = plan.timeline, sizing.summary
    assert sum(device.jobs for device in sizing.devices) == len(plan.schedule)
    spent_J = sum(device.energy_J for device in sizing.devices)
    assert spent_J == pytest.approx((times.uplink_J + times.compute_J).sum())
    assert summary.fleet_J == pytest.approx(spent_J)
    assert summary.energy_J == pytest.approx(sum(task.energy_J for task in summary.tasks.values()))
    assert summary.energy_J == pytest.approx(spent_J + times.downlink_J.sum())
    sent = sum(device.sent_MB for device in sizing.devices)
    assert sent == pytest.approx(plan.world.payload_bit[plan.schedule.task].sum() / 8e6)

    for once, daily in zip(sizing.devices, sizing.per_day, strict=True):
        for name in ("jobs", "energy_J", "battery_share", "sent_MB", "received_MB", "busy_min"):
            assert getattr(daily, name) == pytest.approx(4 * getattr(once, name))
        assert daily.battery_J == once.battery_J
    assert sizing.table().column("energy_J").to_pylist() == [device.energy_J for device in sizing.devices]
    written = json.loads((tmp_path / "sizing.json").read_text())
    assert written == json.loads(json.dumps(sizing.plain()))
    assert "x" in repr(sizing) and len(repr(sizing)) < 300


def test_busy_time_counts_tasks_at_the_same_time_once(tmp_path: Path) -> None:
    plan = sized(small(("mnist", "fashion_mnist")), accuracy=GOAL, output=tmp_path).plan
    for i, device in enumerate(plan.devices):
        of_device = plan.schedule.device == i
        begin, end = plan.schedule.start_s[of_device], plan.timeline.end_s[of_device]
        edges = np.unique(np.concatenate([begin, end]))
        middle = 0.5 * (edges[1:] + edges[:-1])
        busy = [(begin <= at).any() and ((begin <= at) & (at < end)).any() for at in middle]
        assert device.busy_min == pytest.approx((np.diff(edges) * busy).sum() / 60)


def test_a_limit_leaves_the_share_of_the_true_battery(tmp_path: Path) -> None:
    sizing = sized(small(battery_J=50.0), accuracy=GOAL, device_energy_J=1.0, output=tmp_path)
    assert {device.battery_J for device in sizing.devices} == {50.0}
    assert max(device.energy_J for device in sizing.devices) <= 1.0


def test_the_front_rises_and_is_drawn(tmp_path: Path) -> None:
    sizing = sized(small(), accuracy=GOAL, output=tmp_path, front=4, effort=1.0)
    assert len(sizing.front) == 4
    aimed = [point.aimed["mnist"] for point in sizing.front if point.aimed]
    assert aimed == sorted(aimed) and aimed[0] < GOAL["mnist"]
    for point in sizing.front:
        assert point.summary is not None, point.problem
        task = point.summary.tasks["mnist"]
        assert task.low <= task.accuracy <= task.high
        assert not point.aimed or task.accuracy >= point.aimed["mnist"]
    cheapest, best = sizing.front[0].summary, sizing.front[-1].summary
    assert cheapest.energy_J < best.energy_J
    assert cheapest.tasks["mnist"].accuracy < best.tasks["mnist"].accuracy
    assert sizing.plot(tmp_path / "front.svg").axes
    assert "<svg" in (tmp_path / "front.svg").read_text()


def test_the_same_call_does_nothing_twice(tmp_path: Path) -> None:
    given = {
        "accuracy": GOAL,
        "output": tmp_path,
        "front": 3,
        "confirm": 1,
        "vary": {"fleet.devices": (6, 7)},
    }
    first, again, more = Counting(), Counting(), Counting()
    before = sized(small(), watcher=first, **given)
    assert len(first.done) == 2 + 3 + 1  # with so little effort the plan is a quick one, which was tried
    after = sized(small(), watcher=again, **given)
    assert again.done == []
    assert after.plain() == before.plain()
    sized(small(), watcher=more, **(given | {"confirm": 2}))
    assert more.done == ["seeds: seed 1"]


def test_a_damaged_plan_is_made_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    before = sized(small(), accuracy=GOAL, output=tmp_path)
    (kept,) = (tmp_path / "plans").glob("*.json")
    kept.write_text(kept.read_text()[:-200])
    after = sized(small(), accuracy=GOAL, output=tmp_path)
    assert after.plain() == before.plain()
    assert kept.with_name(f"{kept.name}.damaged").exists()
    assert "The plan is made again" in caplog.text


def test_seeds_confirm_and_devices_off_their_table_are_slower_and_hungrier(tmp_path: Path) -> None:
    sizing = sized(small(), accuracy=GOAL, deadline_s=1.0, output=tmp_path, confirm=2, off=0.5)
    assert [seed.seed for seed in sizing.confirmed] == [0, 1]
    slots = sizing.summary.tasks["mnist"].aggregations
    for seed, off in zip(sizing.confirmed, sizing.off_table, strict=True):
        assert not seed.problem and not off.problem
        assert seed.reached == {"mnist": seed.accuracy["mnist"] >= GOAL["mnist"]}
        assert seed.end_s < off.end_s < 2.0 * seed.end_s
        assert seed.fleet_J < off.fleet_J < 1.5 * 1.5 * seed.fleet_J
        assert seed.station_J < off.station_J
        assert seed.broken == ()
        assert off.broken == (("deadline_s",) if off.end_s > 1.0 else ())
    own = sizing.confirmed[0]
    assert own.fleet_J == pytest.approx(sizing.summary.fleet_J)
    assert own.end_s == pytest.approx(sizing.summary.end_s)
    runs = [dmafl.Run(folder) for folder in (tmp_path / "runs").iterdir()]
    assert len(runs) == 4
    for run in runs:
        assert run.scenario.tasks["mnist"].slots == slots
        broken = [str(check) for check in dmafl.verify_run(run.path) if not check.ok]
        assert not broken


def test_the_smallest_value_is_that_of_a_scan(tmp_path: Path) -> None:
    sizing = sized(small(), accuracy=GOAL, output=tmp_path, vary={"tasks.mnist.slots": (1, 8)})
    assert sizing.varied is not None and sizing.varied.smallest
    meets = []
    for slots in range(1, 9):
        varied = with_values(small(), {"tasks.mnist.slots": slots})
        try:
            sized(varied, accuracy=GOAL, output=tmp_path)
            meets.append(slots)
        except Infeasible:
            continue
    assert 1 not in meets  # else there is nothing to find
    assert sizing.varied.value == meets[0]
    assert sizing.plan.world.scenario.as_asked.tasks["mnist"].slots == meets[0]
    assert all((each.summary is None) == (each.value < meets[0]) for each in sizing.varied.tried)
    assert all(each.problem and each.why for each in sizing.varied.tried if each.summary is None)


def test_a_fleet_of_another_size_is_planned_with_one_measurement(tmp_path: Path) -> None:
    sizing = sized(small(), accuracy=GOAL, output=tmp_path, vary={"fleet.devices": (2, 14)}, confirm=1)
    value = sizing.varied.value
    assert 2 < value < 14
    assert sizing.plan.world.device_count == len(sizing.devices) == value
    by_value = {each.value: each for each in sizing.varied.tried}
    below = max(each for each in by_value if each < value)
    assert by_value[below].summary is None and below == value - 1
    assert sizing.confirmed[0].fleet_J == pytest.approx(sizing.summary.fleet_J)


def test_constants_are_those_measured_where_devices_hold_the_same_data(tmp_path: Path) -> None:
    demo, measured = dmafl.preset("demo"), shipped()
    work = PlanWork(demo, measured, tmp_path)
    assert work.measured_for(demo) is measured
    battery = with_values(demo, {"fleet.battery_J": 7.0, "tasks.*.max_staleness": 2})
    assert work.measured_for(battery) is measured
    for other in (small(), with_values(demo, {"tasks.mnist.concentration": 5.0})):
        held = work.measured_for(other).of("mnist").labels.held
        assert held.shape == measured.of("mnist").labels.held.shape
        assert not np.array_equal(held, measured.of("mnist").labels.held)


def test_no_value_of_the_range_may_do(tmp_path: Path) -> None:
    with pytest.raises(Infeasible, match=r"`fleet.devices` must have a value in 1..2 with which the goals"):
        sized(small(), accuracy={"mnist": 0.8}, output=tmp_path, vary={"fleet.devices": (1, 2)})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"accuracy": None}, "`goals` must have a goal"),
        ({"accuracy": {"cifar": 0.5}}, "must name tasks of the scenario"),
        ({"confirm": 0}, "`confirm` must be at least 1 seed; got 0"),
        ({"off": -0.1}, "`off` must be > 0"),
        ({"times_per_day": 0}, "`times_per_day` must be > 0"),
        ({"front": 1}, "`front` must be 0, or at least 2"),
        ({"vary": {"fleet.devices": (9, 3)}}, "must have LOW <= HIGH; got 9..3"),
        ({"vary": {"fleet.device": (3, 9)}}, "Did you mean `fleet.devices`"),
        ({"vary": {"channel.kind": (3, 9)}}, "must be a key that has a number"),
        ({"vary": {"fleet.devices": (3.5, 9)}}, "must have whole numbers"),
        ({"vary": {"fleet.devices": (3,)}}, "must have a lowest and a highest number"),
        ({"vary": {"fleet.battery_J": (0, 9)}}, "must have LOW > 0"),
        ({"vary": {"fleet.battery_J": (1, 9), "fleet.devices": (3, 9)}}, "must name one key"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict, message: str, tmp_path: Path) -> None:
    with pytest.raises(dmafl.BadInput) as refused:
        sized(small(), **({"accuracy": GOAL, "output": tmp_path / "new"} | given))
    assert message in str(refused.value)
    assert not (tmp_path / "new").exists()
