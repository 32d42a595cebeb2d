"""Devices leave and return: what is paid, when jobs go on, and what policies are asked, by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from dmafl.scenario.toml import from_plain
from dmafl.schemes.registry import names_of, scheme_named
from dmafl.schemes.scheme import SchemeContext
from dmafl.simulation.clock import VirtualClock
from dmafl.simulation.scheme_run import SchemeRun
from dmafl.training.workers import InProcess, Trainers
from dmafl.world.world import World
from support.churn import Times, restless
from support.small_runs import PARAMETERS, Simulated, components, scenario, simulate

ROUNDING = 1e-12
"""Relative difference of a few operations in double precision."""
BANDWIDTH_HZ = PARAMETERS * 32.0 / 2.0
"""With a signal-to-noise ratio of 3, which is 2 bit/s/Hz, a model takes one second."""
NOISE_W = 1e-6 * BANDWIDTH_HZ


def one_second_each(devices: int = 1, **task: Any) -> Any:
    """Transfers of 1 s for 0.1 J down and 0.25 J up, computations of 10 s for 10 J, and no idle time."""
    settings = {
        "drift": {"kind": "none"},
        "steps_min": 2,
        "steps_max": 2,
        "batch_min": 5,
        "batch_max": 5,
        "cycles_per_sample": 1e6,
        "slots": 2,
        "max_staleness": 0,
        "idle_max_s": 0.0,
        "window_s": 1000.0,
    }
    fleet = {
        "uplink_bandwidth_Hz": BANDWIDTH_HZ,
        "downlink_bandwidth_Hz": BANDWIDTH_HZ,
        "uplink_power_W": 0.25,
        "downlink_power_W": 0.1,
        "capacitance_Js2": 1e-18,
        "frequency_min_Hz": 1e6,
        "frequency_max_Hz": 1e6,
    }
    channel = {
        "kind": "fixed",
        "noise_dBm_Hz": -30.0,
        "uplink_gain": 3 * NOISE_W / 0.25,
        "downlink_gain": 3 * NOISE_W / 0.1,
    }
    return scenario({"one": settings | task}, devices=devices, fleet=fleet, channel=channel)


def run_with(there: dict[int, Sequence[tuple[float, float]]], devices: int = 1, **task: Any) -> Simulated:
    world = World.resolve(one_second_each(devices, **task), availability=Times(there))
    return simulate(world)


def close(row: dict[str, Any], **wanted: float) -> None:
    for name, value in wanted.items():
        assert row[name] == pytest.approx(value, rel=ROUNDING, abs=1e-12), name


def test_a_device_that_leaves_while_computing_pays_for_the_part_that_is_over() -> None:
    run = run_with({0: [(0.0, 5.0), (20.0, 1000.0)]})
    first, second, third = run.periods
    assert [row["outcome"] for row in run.periods] == ["failed: left", "aggregated", "aggregated"]
    close(first, start_s=0, download_s=1, compute_s=4, upload_s=0, end_s=5, idle_s=0)
    close(first, downlink_J=0.1, compute_J=4, uplink_J=0)
    close(second, idle_s=15, start_s=20, download_s=1, compute_s=10, upload_s=1, end_s=32)
    close(second, downlink_J=0.1, compute_J=10, uplink_J=0.25)
    close(third, idle_s=0, start_s=32, end_s=44)
    assert (first["slot"], first["mix_weight"], second["version"], second["slot"]) == (-1, 0.0, 0, 0)
    uplink, compute, downlink = run.scheme_run.transport.energy_J(0)
    assert (uplink, compute, downlink) == pytest.approx((0.5, 24.0, 0.3), rel=ROUNDING)
    assert run.scheme_run.records.absences == [{"device": 0, "left_s": 5.0, "joined_s": 20.0}]
    assert run.scheme_run.records.losses == []


def test_one_that_leaves_while_downloading_or_uploading_pays_for_the_seconds_sent() -> None:
    run = run_with({0: [(0.0, 0.25), (10.0, 21.5), (30.0, 1000.0)]}, slots=1)
    download, upload, last = run.periods
    close(download, download_s=0.25, downlink_J=0.025, compute_J=0, uplink_J=0, end_s=0.25)
    close(upload, start_s=10, compute_s=10, compute_J=10, upload_s=0.5, uplink_J=0.125, end_s=21.5)
    close(last, idle_s=8.5, start_s=30, end_s=42)


def test_an_upload_that_ends_when_its_device_leaves_counts() -> None:
    run = run_with({0: [(0.0, 12.0)]}, slots=2)
    assert [row["outcome"] for row in run.periods] == ["aggregated"]
    assert run.periods[0]["end_s"] == 12.0
    assert run.scheme_run.records.absences == [{"device": 0, "left_s": 12.0, "joined_s": None}]
    assert run.scheme_run.shortfall() == ""
    assert run.metrics[-1]["aggregation"] == 1


def test_nobody_is_asked_before_they_come() -> None:
    """A task whose devices are all away waits for the first that comes."""
    run = run_with({0: [(7.0, 1000.0)], 1: [(100.0, 1000.0)]}, devices=2)
    assert [(row["device"], row["start_s"], row["end_s"]) for row in run.periods] == [(0, 7, 19), (0, 19, 31)]
    assert [absence["left_s"] for absence in run.scheme_run.records.absences] == [0.0, 0.0]


def test_windows_go_on_while_everybody_is_away() -> None:
    run = run_with({0: [(0.0, 5.0), (95.0, 1000.0)]}, window_s=100.0)
    assert [row["outcome"] for row in run.periods] == ["failed: left", "failed: window"]
    close(run.periods[1], start_s=95, download_s=1, compute_s=10, end_s=106, compute_J=10)
    assert run.seen.losses[-1] == (0, 0, "window", 106.0)


def test_who_lost_its_window_is_not_asked_again_when_it_returns() -> None:
    tasks = {"window_s": 30.0, "slots": 9}
    run = run_with({0: [(0.0, 13.0), (31.0, 32.0)], 1: [(0.0, 13.0)]}, devices=2, **tasks)
    assert all(row["start_s"] < 30.0 for row in run.periods)
    assert run.scheme_run.records.losses == []  # nobody was asked after the window


def test_a_battery_that_is_empty_stays_empty() -> None:
    world = World.resolve(
        one_second_each().with_({"fleet.battery_J": 15.0}),
        availability=Times({0: [(0.0, 30.0), (40.0, 50.0), (60.0, 1000.0)]}),
    )
    run = simulate(world)
    assert [row["outcome"] for row in run.periods] == ["aggregated"]
    assert [loss["reason"] for loss in run.scheme_run.records.losses] == ["battery"]


def test_a_job_that_waits_for_the_radio_when_its_device_leaves_costs_no_more() -> None:
    """The first task sends from 11 s on; the second has computed at 11.5 s and waits until the device leaves."""
    small = one_second_each().with_({"channel.radio": "shared", "fleet.frequency_max_Hz": 2e6})
    plain = small.plain()
    plain["tasks"] = {"a": plain["tasks"]["one"], "b": plain["tasks"]["one"] | {"cycles_per_sample": 0.95e6}}
    run = simulate(World.resolve(from_plain(plain), availability=Times({0: [(0.0, 11.75)]})))
    sends, waits = run.periods
    close(sends, start_s=0, compute_s=10, upload_s=0.75, uplink_J=0.75 * 0.25, end_s=11.75)
    close(waits, start_s=1, compute_s=9.5, compute_J=9.5, upload_s=0, uplink_J=0, end_s=11.75)
    assert run.scheme_run.transport.ledger.consistent()


def test_the_same_devices_leave_in_every_scheme_of_a_seed() -> None:
    small = restless(3)
    runs = [simulate(small, scheme) for scheme in names_of("baseline")]
    seen = [
        {(row["device"], row["left_s"]): row["joined_s"] for row in run.scheme_run.records.absences}
        for run in runs
    ]
    both = set(seen[0]).intersection(*seen[1:])
    assert len(both) > 3
    for key in both:
        assert len({of_run[key] for of_run in seen} - {None}) <= 1


class Stopped:
    """A run that is saved and begun anew after every event."""

    def __init__(self, world: World, scheme: str) -> None:
        self._world, self._scheme = world, scheme
        self._trainers = Trainers(world.scenario, components(world.scenario))
        self.run = self._new()

    def _new(self) -> SchemeRun:
        trainer = self._trainers.of(self._world.scenario.seed)
        policies = scheme_named(self._scheme).policies(SchemeContext(self._world))
        return SchemeRun(self._scheme, self._world, trainer, InProcess(self._trainers), policies)

    def go(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, Any]]:
        metrics, periods = [], []
        while True:
            if next(iter(self.run.run()), "ended") == "ended":
                break
            for rows, table in zip((metrics, periods), self.run.records.take_rows(), strict=True):
                rows += table.to_pylist()
            plain, arrays = self.run.state()
            arrays = {name: np.array(array) for name, array in arrays.items()}
            self.run = self._new()
            self.run.restore(json.loads(json.dumps(plain)), arrays)
        for rows, table in zip((metrics, periods), self.run.records.take_rows(), strict=True):
            rows += table.to_pylist()
        return metrics, periods, self.run.outcome().plain()


@pytest.mark.parametrize("scheme", names_of("baseline"))
@pytest.mark.parametrize("number", [0, 3, 7])
def test_a_stop_after_any_event_changes_nothing(scheme: str, number: int) -> None:
    world = World.resolve(restless(number))
    metrics, periods, outcome = Stopped(world, scheme).go()
    through = simulate(world, scheme)
    assert periods == through.periods
    assert metrics == through.metrics
    assert outcome == through.scheme_run.outcome().plain()
    assert outcome.get("absences")


def test_a_clock_whose_devices_never_leave_is_as_before() -> None:
    clock = VirtualClock(World.resolve(scenario()), None)  # type: ignore[arg-type]
    assert clock.next_event() is None
    assert clock.state()[0]["events"]["entries"] == []
