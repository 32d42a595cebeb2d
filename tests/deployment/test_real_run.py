"""Runs on pretended devices: their folder, and the order in which things happen."""

from __future__ import annotations

from pathlib import Path

import pytest

import dmafl
from dmafl.deployment.real_run import RealRun, run_on_devices
from support.pretended_network import Network
from support.small_runs import components, scenario

SMALL = scenario({"one": {"slots": 10}, "two": {"slots": 10}}, devices=2)


def run_over(network: Network, folder: Path, scheme: str = "fedasync", **more: object) -> dmafl.Run:
    asked = RealRun(SMALL, folder, scheme, components=components(SMALL), **more)  # type: ignore[arg-type]
    return run_on_devices(asked, network, time=network.clock.real_time())


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dmafl.Run:
    network = Network.of(2, seconds={0: 3.0, 1: 7.0})
    return run_over(network, tmp_path_factory.mktemp("real") / "run")


def test_the_manifest_says_whose_clock_it_is(done: dmafl.Run) -> None:
    assert done.manifest.plain()["clock"] == "real"
    assert done.manifest.status == "finished"


def test_every_task_has_its_slots_and_the_slow_device_its_part(done: dmafl.Run) -> None:
    rows = done.periods.to_pylist()
    for task in ("one", "two"):
        taken = [row for row in rows if row["task"] == task and row["outcome"] == "aggregated"]
        assert [row["slot"] for row in taken] == list(range(10))
        devices = [row["device"] for row in taken]
        assert 0 < devices.count(1) < devices.count(0)
        assert max(row["staleness"] for row in taken) >= 2, (
            "updates that are late are taken with their staleness"
        )


def test_what_nobody_measured_is_null(done: dmafl.Run) -> None:
    for row in done.periods.to_pylist():
        assert row["uplink_J"] is row["downlink_J"] is row["compute_J"] is None
        assert row["samples"] == 45
        assert row["compute_s"] in (1.5, 3.5)
