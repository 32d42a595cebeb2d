"""Plans over a network: jobs in the order of the plan, at their planned starts or later, with what they say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dmafl
from dmafl.base.errors import BadInput
from dmafl.deployment.real_run import RealRun, check, run_on_devices
from dmafl.world.world import World
from support.pretended_network import Network
from support.small_runs import components, scenario

SMALL = scenario({"one": {"slots": 10}, "two": {"slots": 6}}, devices=3)
PLAN = dmafl.Plan(World.resolve(SMALL), dmafl.round_robin(World.resolve(SMALL), in_flight=2))


def carried_out(folder: Path, seconds: dict[int, float]) -> tuple[dmafl.Run, Network]:
    network = Network.of(3, seconds=seconds)
    asked = RealRun(SMALL, folder, "scheduled", PLAN, components=components(SMALL))
    return run_on_devices(asked, network, time=network.clock.real_time()), network


@pytest.mark.parametrize("slow", [0.01, 5.0], ids=["as quick as planned", "much slower"])
def test_every_job_of_a_plan_is_done_once_as_it_says(slow: float, tmp_path: Path) -> None:
    run, network = carried_out(tmp_path / "run", {0: slow, 1: 2 * slow, 2: 3 * slow})
    assert [check for check in dmafl.verify_run(run.path) if not check.ok] == []
    rows = run.periods.to_pylist()
    jobs = PLAN.schedule
    for j, task in enumerate(("one", "two")):
        done = sorted(
            (row["device"], row["steps"], row["batch"])
            for row in rows
            if row["task"] == task and row["slot"] >= 0
        )
        of_task = jobs.take(jobs.task == j)
        planned = sorted(
            zip(of_task.device.tolist(), of_task.steps.tolist(), of_task.batch.tolist(), strict=True)
        )
        assert done == planned
    frequencies = {(sent.content["device"], sent.content["frequency_Hz"]) for sent in network.pushed}
    assert frequencies <= set(zip(jobs.device.tolist(), jobs.frequency_Hz.tolist(), strict=True))


def test_a_job_is_not_sent_before_its_planned_start(tmp_path: Path) -> None:
    late = PLAN.schedule.columns()
    late["start_s"] = np.asarray(late["start_s"]) + 40.0
    plan = dmafl.Plan(World.resolve(SMALL), type(PLAN.schedule).from_columns(late))
    network = Network.of(3, seconds=dict.fromkeys(range(3), 0.01))
    asked = RealRun(SMALL, tmp_path / "run", "scheduled", plan, components=components(SMALL))
    run = run_on_devices(asked, network, time=network.clock.real_time())
    assert min(row["start_s"] for row in run.periods.to_pylist()) >= 40.0
    assert [check for check in dmafl.verify_run(run.path) if not check.ok] == []


def test_times_of_tests_are_kept(tmp_path: Path) -> None:
    ticking = SMALL.with_({"evaluation.at_s": (5.0, 12.0, 500.0)})
    network = Network.of(3, seconds={0: 3.0, 1: 4.0, 2: 7.0})
    asked = RealRun(ticking, tmp_path / "run", "fedasync", components=components(SMALL))
    run = run_on_devices(asked, network, time=network.clock.real_time())
    times = {row["time_s"] for row in run.metrics.to_pylist()}
    assert {5.0, 12.0} <= times
    assert 500.0 not in times
    assert [check for check in dmafl.verify_run(run.path) if not check.ok] == []


def test_schemes_that_real_devices_cannot_do_are_refused() -> None:
    given = components(SMALL)
    with pytest.raises(BadInput, match="must be one"):
        check(RealRun(SMALL, Path("run"), "all", components=given))
    with pytest.raises(BadInput, match="plan"):
        check(RealRun(SMALL, Path("run"), "scheduled", components=given))
    with pytest.raises(BadInput, match="none after"):
        network = Network.of(3)
        network.online.clear()
        run_on_devices(
            RealRun(SMALL, Path("run"), "fedasync", components=given, wait_s=9.0),
            network,
            time=network.clock.real_time(),
        )
    assert check(RealRun(SMALL, Path("run"), components=given)).schemes == ("fedasync",)
