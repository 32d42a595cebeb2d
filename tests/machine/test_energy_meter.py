"""The one meter that a machine has, however it is read; and what is said where it has none."""

from __future__ import annotations

import gc
import shutil
import threading
from pathlib import Path

import pytest

from dmafl.machine import find_energy_meter
from dmafl.machine.sampled_meter import SampledMeter
from dmafl.machine.system_files import NoReading
from support.patience import PATIENCE_S, joined
from support.system_trees import battery, charger, ina3221, package


class Steps:
    """A joule at each reading; after `good` of them none."""

    source = "steps"

    def __init__(self, every_s: float = 100.0, good: int = 1000) -> None:
        self.every_s, self.left = every_s, good
        self.third = threading.Event()

    def since_last_J(self, now_s: float) -> float:
        self.left -= 1
        if self.left == 1000 - 3:
            self.third.set()
        if self.left < 0:
            raise NoReading("no more steps")
        return now_s


def test_a_counter_is_preferred_to_a_sensor_and_that_to_a_battery(tmp_path: Path) -> None:
    battery(tmp_path)
    assert find_energy_meter(tmp_path).source == "battery BAT0"
    ina3221(tmp_path, {"VDD_IN": (5000, 1000)})
    assert find_energy_meter(tmp_path).source == "INA3221 VDD_IN"
    zone = package(tmp_path, 1)
    meter = find_energy_meter(tmp_path)
    assert (meter.source, meter.joules()) == ("RAPL package-0", 0.0)
    (zone / "energy_uj").write_text("401\n")
    assert meter.joules() == pytest.approx(400e-6)
    assert meter.joules() == pytest.approx(400e-6), "cumulative"


def test_what_cannot_be_read_now_is_passed_over(tmp_path: Path) -> None:
    package(tmp_path, "garbage")
    battery(tmp_path)
    assert find_energy_meter(tmp_path).source == "battery BAT0"


def test_a_machine_without_a_meter_says_why_and_never_zero(tmp_path: Path) -> None:
    meter = find_energy_meter(tmp_path)
    assert (meter.source, meter.joules()) == (
        "none: no RAPL, no INA3221, no battery that discharges, no Termux",
        None,
    )
    package(tmp_path, "")
    battery(tmp_path)
    charger(tmp_path, 1)
    meter = find_energy_meter(tmp_path)
    assert meter.joules() is None
    assert meter.source.startswith("none: RAPL package-0: ")
    assert meter.source.endswith("; battery: AC is plugged in")


def test_a_meter_that_vanishes_does_not_come_back_with_a_hole(tmp_path: Path) -> None:
    zone = package(tmp_path, 1)
    meter = find_energy_meter(tmp_path)
    assert meter.joules() == 0.0
    shutil.rmtree(zone)
    assert meter.joules() is None
    package(tmp_path, 900)
    assert meter.joules() is None, "what was spent in between is not known"
    assert find_energy_meter(tmp_path).joules() == 0.0


def test_a_battery_that_is_charged_on_the_way_has_a_hole(tmp_path: Path) -> None:
    battery(tmp_path)
    meter = find_energy_meter(tmp_path)
    assert (meter.joules() or 0) >= 0
    battery(tmp_path, status="Charging")
    assert meter.joules() is None
    battery(tmp_path)
    assert meter.joules() is None


def test_it_adds_up_by_its_clock() -> None:
    times = iter([0.0, 2.0, 5.0])
    meter = SampledMeter(Steps(), clock=lambda: next(times))
    assert [meter.joules(), meter.joules()] == [2.0, 7.0]


def test_it_is_read_in_between_without_being_asked() -> None:
    steps = Steps(every_s=0.001)
    with SampledMeter(steps):
        assert steps.third.wait(PATIENCE_S), "the thread of the meter has not read it three times"


def test_it_is_read_no_more_when_nobody_has_it() -> None:
    before = set(threading.enumerate())
    meter = SampledMeter(Steps(every_s=0.001))
    (thread,) = set(threading.enumerate()) - before
    del meter
    gc.collect()
    joined(thread)
    assert not thread.is_alive()


def test_a_closed_meter_tells_nothing() -> None:
    meter = SampledMeter(Steps())
    meter.close()
    assert meter.joules() is None


def test_a_meter_that_cannot_be_read_is_not_opened() -> None:
    with pytest.raises(NoReading, match="no more steps"):
        SampledMeter(Steps(good=0))
