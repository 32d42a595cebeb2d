"""Schedules made by `earliest` and `round_robin`: executable, and as early as the rules allow."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmafl.base.randomness import generator
from dmafl.scenario.model import Channel, Mobility
from dmafl.scenario.preset import preset
from dmafl.schedule.build import round_robin
from dmafl.schedule.jobs import Schedule
from dmafl.schedule.rules import check_schedule
from dmafl.schedule.timeline import completion_s, replay
from dmafl.world.world import World
from reference.random_worlds import draw_executable, draw_world, plain_jobs, sized_to

TIGHT = 1e-9
"""Share of the horizon by which two times count as one: the rules' own tolerance."""

EARLIER = 1e-6
"""Share of the horizon by which a job is tried earlier: well above the rules' tolerance."""

seeds = st.integers(0, 2**32 - 1)


def broken_rules(world: World, schedule: Schedule) -> list[str]:
    """The rules that `schedule` breaks, apart from the shared radio, which the builders do not know."""
    return [
        str(check) for check in check_schedule(world, schedule) if not check.ok and check.name != "S8_radio"
    ]


@given(seeds)
def test_random_devices_and_work_become_executable(seed: int) -> None:
    rng = generator(seed, "test.build")
    drawn = draw_world(rng)
    schedule = draw_executable(drawn.world, rng, in_flight=None if rng.random() < 0.5 else 1)
    assert broken_rules(sized_to(drawn, schedule, rng).world, schedule) == []


@given(seeds, st.integers(1, 9))
def test_round_robin_is_executable(seed: int, in_flight: int) -> None:
    rng = generator(seed, "test.build")
    drawn = draw_world(rng)
    schedule = round_robin(drawn.world, in_flight=in_flight)
    assert broken_rules(sized_to(drawn, schedule, rng).world, schedule) == []


@given(seeds)
def test_every_job_waits_for_something(seed: int) -> None:
    """A job starts when its version appears, when its device is free, or so that its slot follows the one before."""
    rng = generator(seed, "test.build")
    drawn = draw_world(rng)
    schedule = draw_executable(drawn.world, rng)
    timeline = replay(drawn.world, schedule)
    tau_s, offsets = completion_s(drawn.world, schedule, timeline.end_s)
    slack_s = TIGHT * timeline.end_s.max()

    def completed_s(task: int, slot: int) -> float:
        return float(tau_s[offsets[task] + slot]) if slot >= 0 else 0.0

    for k, job in enumerate(plain_jobs(schedule)):
        version_waits = job["start_s"] - completed_s(job["task"], job["version"] - 1) <= slack_s
        device_waits = timeline.idle_s[k] <= slack_s
        slot_waits = timeline.end_s[k] - completed_s(job["task"], job["slot"] - 1) <= slack_s
        assert version_waits or device_waits or slot_waits, job


@given(seeds)
def test_no_job_could_start_earlier(seed: int) -> None:
    rng = generator(seed, "test.build")
    drawn = draw_world(rng)
    schedule = draw_executable(drawn.world, rng)
    step_s = EARLIER * replay(drawn.world, schedule).end_s.max()
    for k in range(len(schedule)):
        start_s = schedule.start_s.copy()
        start_s[k] -= step_s
        moved = Schedule.from_columns(schedule.columns() | {"start_s": start_s})
        assert any(rule.startswith("S3") for rule in broken_rules(drawn.world, moved))


@given(seeds)
def test_no_other_version_would_complete_a_slot_earlier(seed: int) -> None:
    """Slot by slot, every version that K allows is tried by hand at the earliest time the slots before permit."""
    rng = generator(seed, "test.build")
    drawn = draw_world(rng)
    world, schedule = drawn.world, draw_executable(drawn.world, rng)
    timeline = replay(world, schedule)
    jobs = plain_jobs(schedule)
    slack_s = TIGHT * timeline.end_s.max()
    for k, job in enumerate(jobs):
        before = [
            m for m, other in enumerate(jobs) if other["task"] == job["task"] and other["slot"] < job["slot"]
        ]
        end_of_slot = {jobs[m]["slot"]: timeline.end_s[m] for m in before} | {-1: 0.0}
        of_device = [m for m in before if jobs[m]["device"] == job["device"]]
        last = max(of_device, key=lambda m: jobs[m]["slot"], default=None)
        free_s, newest = (timeline.end_s[last], jobs[last]["slot"]) if last is not None else (0.0, -1)
        g = job["slot"]
        for v in range(max(newest + 1, g - int(world.max_staleness[job["task"]])), g):
            at = np.asarray(job["device"]), np.asarray(job["task"]), np.asarray(v), np.asarray(0.0)
            duration_s = float(world.download_s(*at)) + timeline.compute_s[k] + timeline.upload_s[k]
            start_s = max(free_s, end_of_slot[v - 1], end_of_slot[g - 1] - duration_s)
            if start_s <= end_of_slot[v] - slack_s:
                assert timeline.end_s[k] <= start_s + duration_s + slack_s


def test_one_in_flight_is_always_fresh() -> None:
    rng = generator(0, "test.build")
    schedule = round_robin(draw_world(rng).world, in_flight=1)
    assert (schedule.staleness == 0).all()


def test_round_robin_gives_every_device_its_turn() -> None:
    world = World.resolve(preset("phone"))
    schedule = round_robin(world, in_flight=3)
    for j, slots in enumerate(world.slots):
        counts = np.bincount(schedule.device[schedule.task == j], minlength=world.device_count)
        assert counts.tolist() == [slots // world.device_count] * world.device_count
    assert schedule.staleness.max() == 2


def test_more_in_flight_finishes_sooner() -> None:
    world = World.resolve(preset("phone").model_copy(update={"channel": Channel(kind="fixed")}))
    ends = [replay(world, round_robin(world, in_flight=n)).end_s.max() for n in (1, 2, 4, 6)]
    assert ends == sorted(ends, reverse=True)
    assert ends[0] > 2 * ends[-1]


@pytest.mark.parametrize("name", ["paper", "phone", "demo"])
def test_presets_have_room_for_their_round_robin(name: str) -> None:
    world = World.resolve(preset(name))
    assert broken_rules(world, round_robin(world, in_flight=6)) == []


@pytest.mark.parametrize("speed_m_s", [1.0, 10.0])
def test_devices_that_move_get_executable_schedules_too(speed_m_s: float) -> None:
    """A later start means another distance and another rate, so that the shift that lines slots up is not exact."""
    broken = []
    for seed in range(40):
        rng = generator(seed, "test.moving")
        scenario = draw_world(rng, kind="rayleigh").world.scenario
        moving = scenario.model_copy(update={"mobility": Mobility(kind="waypoint", speed_m_s=speed_m_s)})
        world = World.resolve(moving).as_planned()
        schedule = draw_executable(world, rng)
        broken += [
            f"seed {seed}: {rule}"
            for rule in broken_rules(world, schedule)
            if rule[:2] in ("S0", "S1", "S2", "S3")
        ]
    assert broken == []
