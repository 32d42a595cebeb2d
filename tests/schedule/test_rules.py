"""Rules S0-S8 on schedules whose breaches are known by hand: which rule, how much, where, and in which words."""

import numpy as np
import pytest

from dmafl.scenario.model import Channel, Drift, Fleet, Scenario, Task, constant
from dmafl.scenario.preset import preset
from dmafl.schedule.build import round_robin
from dmafl.schedule.checks import TOLERANCE, Check
from dmafl.schedule.jobs import Schedule
from dmafl.schedule.rules import check_schedule
from dmafl.world.world import World

ROUNDING = 1e-9
"""Relative difference from sizes known by hand."""


def make_world(**settings: object) -> World:
    """Two devices; a transfer takes 1 s and costs 1 J, a step 1 s at 10 Hz; two tasks of two slots, 8 samples each."""
    task = Task(
        model="custom",
        parameters=1,
        bits_per_parameter=1.0,
        cycles_per_sample=constant(10.0),
        slots=2,
        max_staleness=1,
        steps_min=1,
        steps_max=5,
        batch_min=1,
        batch_max=1,
        samples=8,
        window_s=constant(30.0),
        drift=Drift(kind="none"),
    )
    fleet = Fleet(
        devices=2,
        uplink_power_W=constant(1.0),
        downlink_power_W=constant(1.0),
        uplink_bandwidth_Hz=constant(1.0),
        downlink_bandwidth_Hz=constant(1.0),
        capacitance_Js2=constant(1e-32),
        frequency_min_Hz=constant(5.0),
        frequency_max_Hz=constant(25.0),
        battery_J=constant(10.0),
    )
    gains = {"uplink_gain": constant(1e-3), "downlink_gain": constant(1e-3), "noise_dBm_Hz": 0.0}
    channel = Channel(kind="fixed", radio=str(settings.get("radio", "own")), **gains)
    return World.resolve(Scenario(fleet=fleet, channel=channel, tasks={"a": task, "b": task}))


def job(task: int, device: int, version: int, slot: int, start_s: float, **other: float) -> dict:
    names = ("task", "device", "version", "slot", "start_s")
    values = (task, device, version, slot, start_s)
    return {"steps": 1, "batch": 1, "frequency_Hz": 10.0} | dict(zip(names, values, strict=True)) | other


GOOD = [
    job(0, 0, 0, 0, 0.0),  # 0-3 s
    job(0, 1, 0, 1, 1.0),  # 1-4 s, staleness 1
    job(1, 1, 0, 0, 5.0),  # 5-8 s
    job(1, 0, 1, 1, 8.0),  # 8-11 s
]


def failing(world: World, jobs: list[dict]) -> dict[str, Check]:
    return {check.name: check for check in check_schedule(world, Schedule.from_jobs(jobs)) if not check.ok}


def changed(k: int, **values: float) -> list[dict]:
    return [*GOOD[:k], GOOD[k] | values, *GOOD[k + 1 :]]


@pytest.mark.parametrize("radio", ["own", "shared"])
def test_good_schedule_breaks_nothing(radio: str) -> None:
    assert failing(make_world(radio=radio), GOOD) == {}


@pytest.mark.parametrize(
    ("jobs", "sizes"),
    [
        pytest.param(changed(3, version=-1, start_s=8.0), {"S0_staleness": 1.0}, id="no such version"),
        pytest.param(GOOD[:3], {"S1_cover": 1.0}, id="a slot without a job"),
        pytest.param([*GOOD, job(0, 0, 2, 2, 12.0)], {"S1_cover": 1.0}, id="a slot that does not exist"),
        pytest.param(
            changed(3, device=1, version=0), {"S2_overlap": 1.0}, id="receives what it replaced itself"
        ),
        pytest.param(changed(3, start_s=7.5), {"S3_causality": 0.5}, id="before its version exists"),
        pytest.param(changed(1, start_s=3.5), {"S3_causality": 0.5}, id="after its version is replaced"),
        pytest.param(
            changed(1, start_s=-0.5), {"S3_causality": 0.5}, id="before time 0, and before the slot before it"
        ),
        pytest.param(changed(3, start_s=28.0), {"S4_window": 1.0}, id="after the window"),
        pytest.param(changed(3, frequency_Hz=26.0), {"S5_cpu": 1.0}, id="too fast"),
        pytest.param(changed(3, frequency_Hz=4.0), {"S5_cpu": 1.0}, id="too slow"),
        pytest.param(changed(3, steps=6), {"S7_ranges": 1.0}, id="too many steps"),
        pytest.param(changed(3, steps=0), {"S7_ranges": 1.0}, id="no steps"),
        pytest.param(changed(3, steps=-1), {"S7_ranges": 2.0}, id="negative steps"),
        pytest.param(changed(3, batch=9), {"S7_ranges": 1.0}, id="more than the device has"),
        pytest.param(changed(3, steps=1.25), {"S7_ranges": 0.25}, id="a quarter of a step"),
        pytest.param(changed(3, batch=1.5), {"S7_ranges": 0.5}, id="half a sample"),
    ],
)
def test_breach_is_found_with_its_size(jobs: list[dict], sizes: dict[str, float]) -> None:
    violations = {name: check.violation for name, check in failing(make_world(), jobs).items()}
    assert violations == pytest.approx(sizes, rel=ROUNDING)


def test_tasks_that_compute_together_share_the_cpu() -> None:
    # Device 1 computes task a from 2 s to 3 s; task b, moved to start at 1 s, does at the same time.
    jobs = [GOOD[0], GOOD[1], GOOD[2] | {"start_s": 1.0}, GOOD[3]]
    assert failing(make_world(), jobs) == {}  # 10 Hz + 10 Hz <= 25 Hz
    jobs = [job | {"frequency_Hz": 15.0} for job in jobs]
    assert failing(make_world(), jobs)["S5_cpu"].violation == pytest.approx(5.0, rel=ROUNDING)


def test_computations_that_touch_do_not_overlap() -> None:
    # Device 1 computes task a from 2 s to 3 s, and task b from 3 s on.
    jobs = [job | {"frequency_Hz": 20.0, "steps": 2} for job in GOOD]
    jobs[2:] = [jobs[2] | {"start_s": 2.0}, jobs[3] | {"start_s": 5.0}]
    assert failing(make_world(), jobs) == {}


@pytest.mark.parametrize("own", [True, False])
def test_transfers_of_a_shared_radio_do_not_overlap(own: bool) -> None:
    # Device 1 uploads task a from 3 s to 4 s and would receive task b from 3.25 s on.
    jobs = [*GOOD[:2], GOOD[2] | {"start_s": 3.25}, GOOD[3] | {"start_s": 6.25}]
    failed = failing(make_world(radio="own" if own else "shared"), jobs)
    assert {name: check.violation for name, check in failed.items()} == pytest.approx(
        {} if own else {"S8_radio": 0.75}
    )


def test_energy_beyond_the_battery() -> None:
    # Twelve uploads of 1 J from a battery of 10 J; whatever else is wrong with them.
    jobs = [job(0, 0, g, g, 3.0 * g) for g in range(12)]
    assert failing(make_world(), jobs)["S6_energy"].violation == pytest.approx(2.0, rel=ROUNDING)


@pytest.mark.parametrize(("share", "ok"), [(0.1 * TOLERANCE, True), (10 * TOLERANCE, False)])
def test_rounding_is_forgiven_and_no_more(share: float, ok: bool) -> None:
    jobs = changed(3, start_s=8.0 - share * 11.0)
    assert (failing(make_world(), jobs) == {}) == ok


def test_short_computation_may_not_exceed_the_frequency_either() -> None:
    """In `paper` a computation of under a millisecond is shorter than the tolerance of a window of days."""
    world = World.resolve(preset("paper"))
    schedule = round_robin(world, in_flight=6, steps=5, batch=8)
    f_max_Hz = world.devices.frequency_max_Hz[schedule.device]
    for factor in (1.5, 10.0, 1000.0):
        overclocked = Schedule.from_columns(schedule.columns() | {"frequency_Hz": factor * f_max_Hz})
        checks = {check.name: check for check in check_schedule(world, overclocked)}
        excess_Hz = (factor - 1.0) * f_max_Hz[0]
        assert checks["S5_cpu"].violation >= excess_Hz * (1 - ROUNDING), f"{factor} times f_max"


def test_empty_schedule_only_misses_its_slots() -> None:
    failed = failing(make_world(), [])
    assert {name: (check.violation, check.places) for name, check in failed.items()} == {"S1_cover": (1.0, 4)}


def test_check_says_rule_size_place_and_remedy() -> None:
    (check,) = failing(make_world(), changed(3, steps=7)).values()
    text = str(check)
    for part in (
        "S7_ranges",
        "violated by 2",
        "device 0, task b, version 1, slot 1",
        "steps 7",
        "Round or clip",
    ):
        assert part in text
    assert check.places == 1


def test_worst_of_several_places_is_named() -> None:
    jobs = [job | {"steps": steps} for job, steps in zip(GOOD, (6, 9, 1, 1), strict=True)]
    check = failing(make_world(), jobs)["S7_ranges"]
    assert (check.violation, check.places) == (4.0, 2)
    assert "device 1, task a" in check.worst
    assert "and 1 more" in str(check)


def test_order_of_the_list_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    for jobs in (GOOD, changed(3, start_s=7.5), changed(3, steps=9)):
        world = make_world()
        expected = [(c.name, c.violation, c.places) for c in check_schedule(world, Schedule.from_jobs(jobs))]
        shuffled = [jobs[k] for k in rng.permutation(len(jobs))]
        outcomes = [
            (c.name, c.violation, c.places) for c in check_schedule(world, Schedule.from_jobs(shuffled))
        ]
        assert outcomes == expected
