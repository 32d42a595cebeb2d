"""Runs on pretended devices: their folder, and the order in which things happen."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dmafl
from dmafl.deployment.link import Reply
from dmafl.deployment.real_run import RealRun, run_on_devices
from dmafl.reports.html.live import LivePage
from support.patience import PATIENCE_S
from support.pretended_network import Network, Sent, Watched
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


def test_the_folder_is_verified_reported_and_compared(done: dmafl.Run, tmp_path: Path) -> None:
    assert [check.name for check in dmafl.verify_run(done.path) if not check.ok] == []
    page = dmafl.report([done], tmp_path / "report.html").read_text(encoding="utf-8")
    assert "not measured" in page
    assert "virtual time" not in page.partition('type="application/json"')[2].partition("</script>")[0]
    assert [effect.final_accuracy.mean for effect in dmafl.compare(done, done).effects] == [0.0, 0.0]


def test_a_live_page_follows_it(tmp_path: Path) -> None:
    """What it shows is asked for at every upload."""
    folder, seen = tmp_path / "run", list[int]()
    with LivePage(folder, port=0, scenario=SMALL) as page:

        def content() -> dict[str, Any]:
            with urlopen(f"{page.address}content.json?have=null", timeout=PATIENCE_S) as answer:
                told: dict[str, Any] = json.loads(answer.read())
            return told

        def change(reply: Reply, sent: Sent) -> list[Reply]:
            time.sleep(0.02)
            seen.append(len(json.dumps(content())))
            return [reply]

        run_over(Network.of(2, change=change), folder)
        page.finish()
        last = content()
    assert len(seen) >= 20
    assert seen[-1] > seen[0], "it grows with the run"
    assert "not measured" in json.dumps(last)


def changed(run: dmafl.Run, folder: Path, column: str, value: float) -> list[str]:
    """The rules that break where the last row of periods says something else."""
    copied = shutil.copytree(run.path, folder)
    table = pq.read_table(copied / "periods.parquet")
    rows = table.to_pylist()
    rows[-1][column] = value
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), copied / "periods.parquet")
    return [check.name for check in dmafl.verify_run(copied) if not check.ok and check.name != "files"]


@pytest.mark.parametrize(
    ("column", "value", "rule"),
    [
        ("compute_s", 99.0, "clock"),
        ("idle_s", 9.0, "durations"),
        ("steps", 99, "orders"),
        ("slot", 3, "versions"),
    ],
)
def test_what_is_changed_is_found(
    done: dmafl.Run, tmp_path: Path, column: str, value: float, rule: str
) -> None:
    assert rule in changed(done, tmp_path / "copy", column, value)


def test_joules_that_devices_report_are_summed(tmp_path: Path) -> None:
    network = Network.of(2)
    for device in network.devices.values():
        device.find_meter = Watched
    run = run_over(network, tmp_path / "run")
    last = {row["task"]: row for row in run.metrics.to_pylist()}
    assert last["one"]["compute_J"] == 2.0 * 10
    assert last["one"]["uplink_J"] is last["one"]["energy_J"] is None
    assert all(check.ok for check in dmafl.verify_run(run.path))
    assert "energy" in changed(run, tmp_path / "copy", "compute_J", 3.0)


def test_joules_of_one_device_alone_make_no_sum(tmp_path: Path) -> None:
    network = Network.of(2)
    network.devices[0].find_meter = Watched
    run = run_over(network, tmp_path / "run")
    known = [row["compute_J"] for row in run.periods.to_pylist() if row["outcome"] == "aggregated"]
    assert None in known
    assert 2.0 in known
    assert run.metrics.to_pylist()[-1]["compute_J"] is None
    assert all(check.ok for check in dmafl.verify_run(run.path))
