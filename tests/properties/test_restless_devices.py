"""Devices that leave and return break no rule, whatever else happens, in no scheme."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dmafl
from dmafl.schemes.registry import names_of
from dmafl.world.world import World
from support.brought import run_with
from support.churn import restless
from support.in_memory import tmp_path  # noqa: F401
from support.small_runs import dataset, simulate, softmax
from support.stopped_runs import Stop, StopsAfter

SCHEMES = (*names_of("baseline"), "scheduled")
WORLDS = 12
ROUNDING = 1e-9
"""Relative difference of times that are sums of the same phases."""
SUM_OF_J = 1e-12
"""Relative difference of sums of energies in another order."""


def violations(path: Path) -> list[str]:
    return [str(check) for check in dmafl.verify_run(path) if not check.ok]


@pytest.mark.parametrize("number", range(WORLDS))
def test_every_rule_holds(number: int, tmp_path: Path) -> None:  # noqa: F811
    """Also of runs that were stopped on the way and went on."""
    small = restless(number)
    world = World.resolve(small)
    more: dict[str, Any] = {
        "plan": dmafl.Plan(world, dmafl.round_robin(world, in_flight=1 + number % 2)),
        "schemes": SCHEMES,
        "output": tmp_path / "run",
        "models": dict.fromkeys(small.tasks, softmax),
        "datasets": {name: dataset() for name in small.tasks},
        "measured": {},
    }
    if number % 3 == 0:
        try:
            run_with(small, watcher=StopsAfter(20 + 10 * number), checkpoint_every_s=0.0, **more)
        except Stop:
            assert violations(tmp_path / "run") == []
    run_with(small, resume=True, **more)
    assert violations(tmp_path / "run") == []
    if number % 3 == 0:
        through = run_with(small, **{**more, "output": tmp_path / "through"})
        for table in ("metrics.parquet", "periods.parquet", "manifest.json"):
            assert (through.path / table).read_bytes() == (tmp_path / "run" / table).read_bytes()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(number=st.integers(0, 10_000), scheme=st.sampled_from(names_of("baseline")))
def test_clock_and_ledger_hold(number: int, scheme: str) -> None:
    """Time goes on, nobody works while away, and every joule is in a row."""
    world = World.resolve(restless(number))
    run = simulate(world, scheme)
    assert all(before <= after for before, after in pairwise(run.times_s))
    assert run.scheme_run.transport.ledger.consistent()
    for row in run.periods:
        spent_s = row["start_s"] + row["download_s"] + row["compute_s"] + row["upload_s"] + row["wait_s"]
        assert spent_s <= row["end_s"] * (1 + ROUNDING)
        inside = [
            (from_s, to_s)
            for from_s, to_s in world.availability.stretches(row["device"])
            if from_s <= row["start_s"] and row["end_s"] <= to_s
        ]
        assert len(inside) == 1, row
        if row["outcome"] == "failed: left":
            assert row["end_s"] == inside[0][1]
    for task, name in enumerate(world.task_names):
        for phase, total_J in zip(
            ("uplink_J", "compute_J", "downlink_J"),
            run.scheme_run.transport.energy_J(task),
            strict=True,
        ):
            rows = [row[phase] for row in run.periods if row["task"] == name]
            assert np.isclose(sum(rows), total_J, rtol=SUM_OF_J, atol=1e-15)


def test_the_worlds_are_such_that_devices_do_leave() -> None:
    """Else the tests above would show nothing."""
    happened: Counter[str] = Counter()
    for number in range(WORLDS):
        run = simulate(restless(number), "fedavg-partial")
        happened.update(row["outcome"] for row in run.periods)
        happened["absences"] += len(run.scheme_run.records.absences)
    assert happened["failed: left"] > WORLDS
    assert happened["absences"] > 10 * WORLDS
