"""Plans are carried out to the letter; what a plan did not foresee changes times, never hangs the run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dmafl
from dmafl.schedule.jobs import Schedule
from dmafl.schedule.plan import Plan
from dmafl.schedule.rules import check_schedule
from dmafl.schedule.timeline import replay
from dmafl.world.world import World
from support.small_runs import Simulated, scenario, simulate

AS_PLANNED = 1e-9
"""Relative difference between planned and realised times: sums of the same numbers in another order."""

TASKS = {
    "a": {"slots": 30, "max_staleness": 5},
    "b": {"slots": 20, "max_staleness": 5, "cycles_per_sample": 4e6},
    "c": {"slots": 10, "max_staleness": 2, "cycles_per_sample": 1e3},
}


def assert_as_planned(run: Simulated, schedule: Schedule) -> None:
    """Every job at its time, with its version, slot and energy."""
    timeline = replay(run.scheme_run.world, schedule)
    names = run.scheme_run.world.task_names
    rows = {(row["task"], row["slot"]): row for row in run.periods}
    assert len(rows) == len(run.periods) == len(schedule)
    assert {row["outcome"] for row in run.periods} == {"aggregated"}
    for k in range(len(schedule)):
        row = rows[names[schedule.task[k]], int(schedule.slot[k])]
        for name in ("device", "version", "steps", "batch"):
            assert row[name] == getattr(schedule, name)[k], (name, row)
        assert row["staleness"] == schedule.staleness[k]
        end_s = float(timeline.end_s[k])
        assert row["start_s"] == pytest.approx(schedule.start_s[k], rel=AS_PLANNED, abs=AS_PLANNED * end_s)
        assert row["idle_s"] == pytest.approx(timeline.idle_s[k], rel=AS_PLANNED, abs=AS_PLANNED * end_s)
        assert row["wait_s"] == pytest.approx(0.0, abs=AS_PLANNED * end_s)
        for name in ("end_s", "download_s", "compute_s", "upload_s", "uplink_J", "compute_J", "downlink_J"):
            assert row[name] == pytest.approx(getattr(timeline, name)[k], rel=AS_PLANNED), (name, row)
        assert row["frequency_Hz"] == pytest.approx(schedule.frequency_Hz[k], rel=AS_PLANNED)
        assert row["samples"] == timeline.samples[k]


@pytest.mark.parametrize("in_flight", range(1, 7))
@pytest.mark.parametrize("kind", ["rayleigh", "fixed", "waypoint"])
def test_round_robin_is_carried_out_exactly(in_flight: int, kind: str) -> None:
    sections: dict[str, Any] = {"channel": {"kind": "fixed"}} if kind == "fixed" else {}
    sections |= {"mobility": {"kind": "waypoint", "speed_m_s": 30.0}} if kind == "waypoint" else {}
    world = World.resolve(scenario(TASKS, devices=6, seed=in_flight, **sections))
    schedule = dmafl.round_robin(world, in_flight=in_flight)
    assert all(check.ok for check in check_schedule(world, schedule))
    assert_as_planned(simulate(world, "scheduled", schedule), schedule)


def equal_world(**task: Any) -> World:
    """Devices that are all alike, at one distance: their jobs take equally long."""
    fleet = {"frequency_max_Hz": 1e8, "capacitance_Js2": 1e-28}
    return World.resolve(
        scenario(
            {"one": {"slots": 18, "max_staleness": 5, **task}},
            devices=6,
            fleet=fleet,
            channel={"kind": "fixed"},
        )
    )


@pytest.mark.parametrize("in_flight", range(1, 7))
def test_uploads_that_end_at_the_same_time_complete_their_slots_in_order(in_flight: int) -> None:
    world = equal_world()
    schedule = dmafl.round_robin(world, in_flight=in_flight, steps=3, batch=4)
    ends = replay(world, schedule).end_s
    assert in_flight == 1 or np.isclose(np.diff(ends), 0.0, atol=1e-12).sum() >= 5
    assert_as_planned(simulate(world, "scheduled", schedule), schedule)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_job_that_starts_when_the_next_version_is_made_still_receives_its_own(version: int) -> None:
    """S3 allows a download that starts at tau_v itself: the version is current until then."""
    world = equal_world(slots=5)
    one = dmafl.round_robin(world, in_flight=1, steps=3, batch=4)
    length_s = float(replay(world, one).end_s[0])
    columns = {name: column.copy() for name, column in one.columns().items()}
    slot = version + 1
    # Slots 0..version one after another; the job of slot version+1 starts when slot `version` completes.
    columns["start_s"][slot:] = one.start_s[slot:]
    columns["version"][slot] = version
    schedule = Schedule.from_columns(columns)
    assert schedule.start_s[slot] == pytest.approx(length_s * slot)
    assert all(check.ok for check in check_schedule(world, schedule))
    run = simulate(world, "scheduled", schedule)
    rows = {row["slot"]: row for row in run.periods}
    assert rows[slot]["version"] == version
    assert_as_planned(run, schedule)


def test_a_plan_from_mean_rates_completes_with_true_gains_and_true_staleness() -> None:
    world = World.resolve(scenario(TASKS, devices=6, seed=2, channel={"knowledge": "mean_rate"}))
    for in_flight in (1, 3, 6):
        schedule = dmafl.round_robin(world.as_planned(), in_flight=in_flight)
        assert Plan(world, schedule).executable
        run = simulate(world, "scheduled", schedule)
        assert run.complete
        slots = {name: [] for name in TASKS}
        for row in run.periods:
            slots[row["task"]].append(row["slot"])
            assert row["outcome"] == "aggregated"
            assert row["staleness"] == row["slot"] - row["version"]
            assert row["mix_weight"] == pytest.approx(0.6 * (row["staleness"] + 1) ** -0.5)
        assert slots == {name: list(range(task["slots"])) for name, task in TASKS.items()}
        planned_s = replay(world.as_planned(), schedule).upload_s
        assert {row["upload_s"] for row in run.periods}.isdisjoint(planned_s.tolist())


def by_hand(jobs: list[tuple[int, int, int, float]]) -> Schedule:
    """A schedule of one task from (device, version, slot, start_s)."""
    return Schedule.from_jobs(
        {
            "task": 0,
            "device": device,
            "version": version,
            "slot": slot,
            "steps": 3,
            "batch": 4,
            "frequency_Hz": 1e8,
            "start_s": start_s,
        }
        for device, version, slot, start_s in jobs
    )


def test_jobs_of_a_lost_device_go_to_one_that_has_finished_its_own() -> None:
    """Device 0 has done its only job when device 1's battery is empty: it takes over what is left."""
    world = equal_world(slots=6)
    length_s = float(replay(world, dmafl.round_robin(world, steps=3, batch=4)).end_s[0])
    jobs = [(0, 0, 0, 0.0), *[(1, slot, slot, slot * length_s) for slot in range(1, 6)]]
    schedule = by_hand(jobs)
    cost_J = replay(world, schedule)
    two_jobs_J = 2.5 * float(cost_J.uplink_J[1] + cost_J.compute_J[1])
    battery_J = np.asarray([1e9, two_jobs_J, 1e-12, 1e-12, 1e-12, 1e-12])
    poor = replace(world, devices=replace(world.devices, battery_J=battery_J))
    run = simulate(poor, "scheduled", schedule)
    assert [one["reason"] for one in run.scheme_run.records.losses][:1] == ["battery"]
    done = [row for row in run.periods if row["outcome"] == "aggregated"]
    assert [row["device"] for row in done[:3]] == [0, 1, 1]
    # The job that could not be paid for is lost; the two after it are not.
    assert [row["device"] for row in done[3:]][:2] == [0, 0]


def test_frequencies_that_a_plan_overbooks_are_cut_to_the_cpu() -> None:
    """S5 holds at every instant, whatever the plan was."""
    world = World.resolve(
        scenario({"a": {"slots": 6}, "b": {"slots": 6}}, devices=2, fleet={"frequency_max_Hz": 1e8})
    )
    schedule = dmafl.round_robin(world)
    columns = schedule.columns() | {"frequency_Hz": np.full(len(schedule), 9e7)}
    run = simulate(world, "scheduled", Schedule.from_columns(columns))
    assert run.complete
    for span in run.seen.watch.computations:
        load = sum(
            other.frequency_Hz
            for other in run.seen.watch.computations
            if other.device == span.device and other.begin_s <= span.begin_s < other.end_s
        )
        assert load <= 1e8 * (1 + 1e-9)
        assert span.frequency_Hz >= 1e7 * (1 - 1e-9)
