"""Batteries: power, or current times voltage; only while they discharge and nothing is plugged in."""

from __future__ import annotations

from pathlib import Path

import pytest

from dmafl.machine import battery as batteries
from dmafl.machine.system_files import NoReading
from support.system_trees import battery, charger


def test_power_is_added_up_as_straight_lines(tmp_path: Path) -> None:
    """By hand: from 5 W to 7 W in two seconds is 12 J."""
    folder = battery(tmp_path)
    charger(tmp_path, 0)
    meter = batteries.find(tmp_path)
    assert meter is not None
    assert meter.source == "battery BAT0"
    assert meter.since_last_J(10.0) == 0.0
    (folder / "power_now").write_text("7000000\n")
    assert meter.since_last_J(12.0) == pytest.approx(12.0)


@pytest.mark.parametrize("current_uA", [2_000_000, -2_000_000])
def test_current_times_voltage_of_either_sign(tmp_path: Path, current_uA: int) -> None:
    """By hand: 2 A at 4 V for a second."""
    folder = battery(tmp_path, "battery", current_now=current_uA, voltage_now=4_000_000)
    (folder / "power_now").unlink()
    meter = batteries.find(tmp_path)
    meter.since_last_J(0.0)
    assert meter.since_last_J(1.0) == pytest.approx(8.0)


def test_of_two_batteries_those_that_give_count(tmp_path: Path) -> None:
    battery(tmp_path, "BAT0", status="Full", power_now=0)
    battery(tmp_path, "BAT1", power_now=6_000_000)
    battery(tmp_path, "mouse", scope="Device", status="Charging")
    meter = batteries.find(tmp_path)
    assert meter.source == "battery BAT0 + BAT1"
    meter.since_last_J(0.0)
    assert meter.since_last_J(2.0) == pytest.approx(12.0)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"status": "Charging"}, "BAT0 is Charging"),
        ({"status": "Full"}, "BAT0 is Full"),
        ({"status": ""}, "BAT0 is silent"),
        ({"power_now": 0}, "discharges and says 0 W"),
        ({"power_now": "much"}, "no number but 'much'"),
    ],
)
def test_a_battery_that_tells_nothing(tmp_path: Path, files: dict[str, object], said: str) -> None:
    battery(tmp_path, **files)
    with pytest.raises(NoReading, match=said):
        batteries.find(tmp_path)


def test_a_charger_feeds_the_machine_too(tmp_path: Path) -> None:
    battery(tmp_path)
    charger(tmp_path, 1)
    with pytest.raises(NoReading, match="AC is plugged in"):
        batteries.find(tmp_path)


def test_a_battery_of_more_power_than_any_device_takes(tmp_path: Path) -> None:
    battery(tmp_path, power_now=10**13)
    with pytest.raises(NoReading, match=r"1e\+07 W"):
        batteries.find(tmp_path).since_last_J(0.0)


def test_a_machine_without_one(tmp_path: Path) -> None:
    charger(tmp_path, 1)
    assert batteries.find(tmp_path) is None
