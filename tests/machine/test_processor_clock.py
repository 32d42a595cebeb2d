"""The clock of the processor, of the cores that this process may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dmafl.machine.processor_clock import clock_Hz
from dmafl.machine.system_files import NoReading
from support.system_trees import cores, put


def test_the_fastest_core_that_may_be_used_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    cores(tmp_path, 800_000, 1_800_000, 2_600_000)
    put(tmp_path, "sys/devices/system/cpu/cpufreq", {})
    assert clock_Hz(tmp_path) == 1.8e9


@pytest.mark.parametrize("clocks", [(), ("fast",), (0,), (10**9,)])
def test_a_clock_that_is_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clocks: tuple) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    cores(tmp_path, *clocks)
    with pytest.raises(NoReading):
        clock_Hz(tmp_path)
