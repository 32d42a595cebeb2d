"""Bisection of one setting: what a scan finds, in both directions, with few values."""

from __future__ import annotations

import math

import pytest

from dmafl.experiments.sizing.vary import NARROW, Range, bisected
from support.sizings import small


def found(varied: Range, edge: float, rising: bool) -> tuple[tuple[float, bool] | None, list[float]]:
    """What is found where values from `edge` on do (or up to it), and the values that were tried between the ends."""
    tried: list[float] = []

    def does(value: float) -> bool:
        return value >= edge if rising else value <= edge

    def works(value: float) -> bool:
        tried.append(value)
        return does(value)

    return bisected(varied, works, does(varied.low), does(varied.high)), tried


@pytest.mark.parametrize("edge", range(4, 53))
def test_whole_numbers_as_a_scan_finds_them(edge: int) -> None:
    varied = Range("fleet.devices", 5, 50, True)
    works = [value for value in range(5, 51) if value >= edge]
    smallest, tried = found(varied, edge, rising=True)
    assert smallest == ((works[0], True) if works else None)
    assert len(tried) == len(set(tried)) <= math.ceil(math.log2(46))
    works = [value for value in range(5, 51) if value <= edge]
    largest, _ = found(varied, edge, rising=False)
    assert largest == (None if not works else (5, True) if edge >= 50 else (works[-1], False))


@pytest.mark.parametrize("edge", [1.1e-3, 0.02, 3.0, 99.0, 9.9e4])
def test_real_numbers_to_a_few_percent(edge: float) -> None:
    varied = Range("fleet.battery_J", 1e-3, 1e5, False)
    (value, smallest), tried = found(varied, edge, rising=True)
    assert smallest and edge <= value <= edge * NARROW
    assert len(tried) <= 12
    (value, smallest), _ = found(varied, edge, rising=False)
    assert not smallest and edge / NARROW <= value <= edge


def test_values_are_applied_to_every_task_that_a_key_names() -> None:
    scenario = small(("mnist", "fashion_mnist"))
    varied = Range.of(scenario, {"tasks.*.max_staleness": (0, 9)})
    assert varied.whole
    assert {task.max_staleness for task in varied.applied(scenario, 4).tasks.values()} == {4}
    band = Range.of(scenario, {"fleet.uplink_bandwidth_Hz": (1e4, 10**6)})
    assert not band.whole
    assert band.applied(scenario, 2e5).fleet.uplink_bandwidth_Hz.high == 2e5
