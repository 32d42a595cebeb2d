"""Power sensors of Jetson boards."""

from __future__ import annotations

from pathlib import Path

import pytest

from dmafl.machine import ina3221 as jetson
from dmafl.machine.system_files import NoReading
from support.system_trees import ina3221, put


def test_the_input_of_the_board_has_all_the_power(tmp_path: Path) -> None:
    """By hand: 5 V times 2 A for three seconds; the other rails lie behind that one."""
    put(tmp_path, "sys/class/hwmon/hwmon0", {"name": "coretemp", "in1_label": "VDD_IN"})
    ina3221(tmp_path, {"VDD_IN": (5000, 2000), "VDD_CPU_GPU_CV": (5000, 600), "VDD_SOC": (5000, 400)}, 3)
    meter = jetson.find(tmp_path)
    assert meter is not None
    assert meter.source == "INA3221 VDD_IN"
    meter.since_last_J(1.0)
    assert meter.since_last_J(4.0) == pytest.approx(30.0)


def test_without_an_input_all_rails_of_all_chips_count(tmp_path: Path) -> None:
    """By hand: 10 W, 5 W and 2 W."""
    ina3221(tmp_path, {"GPU": (5000, 2000), "CPU": (5000, 1000), "NC": (0, 0)}, 1)
    folder = ina3221(tmp_path, {"SYS5V": (5000, 400)}, 2)
    put(folder, "", {"in7_label": "sum of shunt voltages", "in7_input": 9, "curr7_input": 9})
    meter = jetson.find(tmp_path)
    assert meter.source == "INA3221 GPU + CPU + SYS5V"
    meter.since_last_J(0.0)
    assert meter.since_last_J(1.0) == pytest.approx(17.0)


def test_a_rail_without_a_current(tmp_path: Path) -> None:
    (ina3221(tmp_path, {"VDD_IN": (5000, 1)}) / "curr1_input").unlink()
    with pytest.raises(NoReading, match=r"INA3221: .*curr1_input cannot be read \(no such file\)"):
        jetson.find(tmp_path)


def test_a_machine_without_one(tmp_path: Path) -> None:
    put(tmp_path, "sys/class/hwmon/hwmon0", {"name": "coretemp"})
    assert jetson.find(tmp_path) is None
