"""Runs over Flower on loopback: a SuperLink and two SuperNodes as processes, with TLS and keys of devices."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import dmafl
from dmafl.schedule.plan_files import write_plan
from support.flower import need
from support.patience import wait_until
from support.real_deployments import (
    RUN_S,
    Deployed,
    aggregations,
    cheap,
    deployed,
    end_of,
    kill_below,
)

pytestmark = [pytest.mark.deploy, pytest.mark.timeout(2 * RUN_S)]
SLOTS = 10
TWO = cheap(2, SLOTS)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    need()
    with deployed(tmp_path_factory.mktemp("two"), TWO) as there:
        yield there


def reached(run: subprocess.Popen[str], output: Path, slots: int) -> None:
    """Wait for so many aggregations of a run that goes on."""
    wait_until(lambda: aggregations(output) >= slots or run.poll() is not None, f"{slots} slots", RUN_S)


def whole(output: Path) -> dmafl.Run:
    """All slots are there, each once, and every rule holds."""
    run = dmafl.Run(output)
    assert run.manifest.plain()["clock"] == "real"
    rows = run.periods.to_pylist()
    for task in TWO.tasks:
        slots = [row["slot"] for row in rows if row["task"] == task and row["slot"] >= 0]
        assert slots == list(range(SLOTS))
    assert [str(check) for check in dmafl.verify_run(output) if not check.ok] == []
    return run


def test_a_plan_is_carried_out_and_reported(two: Deployed, tmp_path: Path) -> None:
    os.environ["DMAFL_DATA_DIR"] = ""
    measured = dmafl.measure(TWO, probes=12, use_cache=False)
    plan = dmafl.plan(TWO, measured=measured, effort=1.0)
    write_plan(plan, tmp_path / "plan.json")
    said = two.run(tmp_path / "run", "--plan", tmp_path / "plan.json")
    assert "flwr run" in said
    run = whole(tmp_path / "run")
    assert run.manifest.schemes == ("dma-fl",)
    rows = [row for row in run.periods.to_pylist() if row["outcome"] == "aggregated"]
    planned = sorted(zip(plan.schedule.steps.tolist(), plan.schedule.batch.tolist(), strict=True))
    assert sorted((row["steps"], row["batch"]) for row in rows) == planned
    assert all(row["compute_s"] > 0 and row["samples"] == 120 for row in rows)
    page = dmafl.report([run], tmp_path / "report.html")
    assert "not measured" in page.read_text(encoding="utf-8")
    accuracies = {row["task"]: row["accuracy"] for row in run.metrics.to_pylist()}
    assert min(accuracies.values()) > 0.5


def test_kills_of_a_device_of_the_server_app_and_of_the_superlink_lose_nothing(
    two: Deployed, tmp_path: Path
) -> None:
    output = tmp_path / "run"
    run = two.begin(output, "--scheme", "fedasync")
    try:
        reached(run, output, 2)
        kill_below(two.devices[1], "flwr-clientapp")  # in training
        kill_below(two.devices[1], "flower-supernode")
        reached(run, output, 5)
        kill_below(two.server, "flwr-serverapp")
        reached(run, output, 9)
        kill_below(two.server, "flower-superlink")
    finally:
        said = end_of(run)
    assert "It goes on from where it was saved." in said
    done = whole(output)
    begun = [row["start_s"] for row in done.periods.to_pylist()]
    assert begun != sorted(begun), "replies out of order"
