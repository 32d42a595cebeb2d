"""Batteries, windows and a shared radio: what they forbid does not happen, and nothing hangs."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import dmafl
from dmafl.schemes.registry import names_of
from dmafl.world.world import World
from support.small_runs import Simulated, scenario, simulate

SCHEMES = (*names_of("baseline"), "scheduled")
ROUNDING = 1e-12
"""Batteries and ledgers are compared after a few additions of float64."""

SPANS = 1e-9
"""Relative overlap of two spans that rounding may make."""


def run(world: World, scheme: str) -> Simulated:
    schedule = dmafl.round_robin(world, in_flight=3) if scheme == "scheduled" else None
    return simulate(world, scheme, schedule)


def world(**changes: Any) -> World:
    task = {"slots": 25, **changes.pop("task", {})}
    return World.resolve(scenario({"a": task, "b": task}, seed=3, **changes))


def spent_J(done: Simulated) -> np.ndarray:
    out = np.zeros(done.scheme_run.world.device_count)
    for row in done.periods:
        assert min(row["uplink_J"], row["compute_J"], row["downlink_J"]) >= 0, row
        out[row["device"]] += row["uplink_J"] + row["compute_J"]
    return out


def typical_J() -> float:
    """What a device spends in fedasync when nothing forbids it."""
    return float(spent_J(run(world(), "fedasync")).mean())


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("part", [0.02, 0.3, 0.7])
def test_small_batteries(scheme: str, part: float) -> None:
    done = run(world(fleet={"battery_J": part * typical_J()}), scheme)
    battery_J = done.scheme_run.world.devices.battery_J
    assert not done.complete
    assert (spent_J(done) <= battery_J * (1 + ROUNDING)).all()
    lost = done.scheme_run.records.losses
    assert {one["reason"] for one in lost} == {"battery"}
    assert {one["task"] for one in lost} <= {"a", "b"}
    assert done.scheme_run.transport.ledger.consistent()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("window_s", [0.01, 0.1, 0.4])
def test_short_windows(scheme: str, window_s: float) -> None:
    done = run(world(task={"window_s": window_s, "slots": 200}), scheme)
    assert not done.complete
    lost = done.scheme_run.records.losses
    assert lost
    assert {one["reason"] for one in lost} == {"window"}
    for row in done.periods:
        if row["outcome"] == "aggregated":
            assert row["end_s"] <= window_s
        else:
            assert row["outcome"] == "failed: window"
            assert row["slot"] == -1


@pytest.mark.parametrize("scheme", names_of("baseline"))
def test_windows_that_differ_by_device(scheme: str) -> None:
    done = run(world(task={"window_s": {"choice": [0.5, 1e4]}, "slots": 30}), scheme)
    window_s = done.scheme_run.world.devices.window_s
    assert len(np.unique(window_s)) == 2
    for row in done.periods:
        if row["outcome"] == "aggregated":
            assert row["end_s"] <= window_s[row["device"], "ab".index(row["task"])]
    assert done.complete


def test_two_tasks_that_compute_at_once_do_not_overdraw_a_battery() -> None:
    """Either task's job alone can be paid for, both cannot; they are ordered at the same instant."""
    task = {"slots": 4, "cycles_per_sample": 1e9, "idle_max_s": 0.0, "steps_min": 4, "batch_min": 6}
    rich = World.resolve(scenario({"a": task, "b": task}, devices=2))
    rows = [row for row in run(rich, "fedavg-full").periods if row["device"] == 0]
    costs = [next(row for row in rows if row["task"] == name) for name in "ab"]
    one_J = max(row["compute_J"] + row["uplink_J"] for row in costs)
    both_J = sum(row["compute_J"] for row in costs)
    assert one_J < 0.95 * both_J
    battery_J = [(one_J + both_J) / 2, 1e9]
    poor = replace(rich, devices=replace(rich.devices, battery_J=np.asarray(battery_J)))
    for scheme in names_of("baseline"):
        done = run(poor, scheme)
        assert (spent_J(done) <= poor.devices.battery_J * (1 + ROUNDING)).all(), scheme


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_shared_radio_does_one_transfer_at_a_time(scheme: str, seed: int) -> None:
    tasks = {
        name: {"slots": 12, "idle_max_s": 0.0, "cycles_per_sample": cycles}
        for name, cycles in (("a", 1e3), ("b", 1e5), ("c", 1e6))
    }
    done = run(World.resolve(scenario(tasks, devices=3, seed=seed, channel={"radio": "shared"})), scheme)
    assert done.complete
    busy = defaultdict(list)
    for span in done.seen.watch.transfers:
        busy[span.device].append((span.begin_s, span.end_s))
    waited = sum(row["wait_s"] > 0 for row in done.periods)
    for spans in busy.values():
        spans.sort()
        for (_, end_s), (begin_s, _) in pairwise(spans):
            assert begin_s >= end_s * (1 - SPANS)
    assert waited, "three tasks do meet at the radio"
