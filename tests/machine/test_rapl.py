"""Energy counters of processors, which turn over and are usually root's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dmafl.machine import rapl
from dmafl.machine.system_files import NoReading
from support.system_trees import package


def test_two_packages_are_one_machine_and_a_zone_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    first, second = package(tmp_path, 100), package(tmp_path, 500, 1, "intel-rapl:1")
    package(tmp_path, 100, 0, "intel-rapl-mmio:0")
    package(tmp_path, 7, zone="intel-rapl:0:0", name="core")
    package(tmp_path, 7, zone="intel-rapl:2", name="psys")
    meter = rapl.find(tmp_path)
    assert meter is not None
    assert meter.source == "RAPL package-0 + package-1"
    assert meter.since_last_J(0.0) == 0.0
    (first / "energy_uj").write_text("350\n")
    (second / "energy_uj").write_text("600\n")
    assert meter.since_last_J(1.0) == pytest.approx(350e-6)
    assert meter.since_last_J(2.0) == 0.0


def test_a_counter_that_turns_over(tmp_path: Path) -> None:
    """By hand: from 900 to the end of the range at 1000, and on to 40."""
    zone = package(tmp_path, 900)
    meter = rapl.find(tmp_path)
    meter.since_last_J(0.0)
    (zone / "energy_uj").write_text("40\n")
    assert meter.since_last_J(1.0) == pytest.approx(140e-6)


@pytest.mark.parametrize("range_uJ", ["500", "-1", "wide"])
def test_a_counter_that_falls_otherwise_is_no_counter(tmp_path: Path, range_uJ: str) -> None:
    zone = package(tmp_path, 900, max_energy_range_uj=range_uJ)
    meter = rapl.find(tmp_path)
    meter.since_last_J(0.0)
    (zone / "energy_uj").write_text("40\n")
    with pytest.raises(NoReading, match=r"intel-rapl:0"):
        meter.since_last_J(1.0)


def test_it_says_that_only_root_may_read_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package(tmp_path, 100)
    really = os.open

    def refuse(path: object, *more: int) -> int:
        if str(path).endswith("energy_uj"):
            raise PermissionError(13, "Permission denied", str(path))
        return really(path, *more)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(NoReading, match=r"RAPL package-0: .*Permission denied.*usually root alone may"):
        rapl.find(tmp_path)


@pytest.mark.parametrize("content", ["", "12 34", "1e6", "٣", "9" * 40, "\x00\x1b[31m"])
def test_what_is_no_number_is_refused(tmp_path: Path, content: str) -> None:
    package(tmp_path, content)
    with pytest.raises(NoReading, match="RAPL package-0") as refused:
        rapl.find(tmp_path)
    assert "\x1b" not in str(refused.value)


def test_a_machine_without_it(tmp_path: Path) -> None:
    assert rapl.find(tmp_path) is None
