"""`dma-fl-online` with a device that is ten times slower than its profile: what it has reported is planned with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmafl
from dmafl.calibration.dissimilarity import label_mix
from dmafl.calibration.measured import Measured
from dmafl.calibration.running_estimates import RunningEstimates
from dmafl.calibration.speeds import Speeds
from dmafl.deployment.link import Content
from dmafl.deployment.real_run import RealRun, run_on_devices
from dmafl.planning.task_estimates import estimates_from
from dmafl.schemes.registry import scheme_named
from dmafl.schemes.scheme import SchemeContext
from dmafl.simulation.clock import VirtualClock
from dmafl.simulation.scheme_run import SchemeRun, _OrderedTraining
from dmafl.training.workers import InProcess, Trainers
from dmafl.world.world import World
from support.pretended_network import Network
from support.small_runs import components, scenario
from support.tiny_measurements import measured

SLOTS, SLOWER = 32, 10.0
REPLAN = SLOTS // 8
"""Slots between two plans."""
PROFILE = scenario(
    {
        "one": {
            "slots": SLOTS,
            "partition": "iid",
            "samples": 20,
            "steps_max": 20,
            "cycles_per_sample": 1e6,
            "window_s": 30.0,
        }
    },
    devices=3,
    fleet={"frequency_max_Hz": 1e8},
)
WORLD = World.resolve(PROFILE)
TIMES = np.asarray([[SLOWER], [1.0], [1.0]])
TRUTH = replace(
    WORLD, devices=replace(WORLD.devices, cycles_per_sample=WORLD.devices.cycles_per_sample * TIMES)
)


@pytest.fixture(scope="module")
def constants() -> Measured:
    return measured(PROFILE, None)


def work_a_job(rows: list[dict[str, Any]], device: int) -> float:
    """Samples that a job of the device goes through, of those aggregated after the second plan on the way."""
    jobs = [
        row["steps"] * row["batch"]
        for row in rows
        if row["device"] == device and row["slot"] >= 2 * REPLAN and row["start_s"] > 0
    ]
    return float(np.mean(jobs)) if jobs else 0.0


def simulated(constants: Measured, learns: bool, real: bool = False) -> list[dict[str, Any]]:
    """Rows of periods on a virtual clock whose device 0 is slower than the scenario says."""
    trainers = Trainers(PROFILE, components(PROFILE))
    trainer, workers, speeds = trainers.of(0), InProcess(trainers), Speeds(WORLD)
    context = SchemeContext(
        WORLD,
        effort=1.0,
        estimates=lambda: estimates_from(PROFILE, constants),
        labels_at=lambda task, share: label_mix(trainer, task, share),
        real_devices=real,
        world_now=speeds.world if learns else None,
    )
    policies = scheme_named("dma-fl-online").policies(context)
    observer = RunningEstimates(["one"], 3, [trainer.tasks[0].model.size], [0.1], 0, speeds)
    clock = VirtualClock(TRUTH, _OrderedTraining(0, workers), trainer.samples)
    run = SchemeRun("dma-fl-online", WORLD, trainer, workers, policies, observer, transport=clock)
    for _ in run.run():
        pass
    rows: list[dict[str, Any]] = run.records.take_rows()[1].to_pylist()
    return rows


@pytest.mark.parametrize("real", [False, True], ids=["as simulated", "as with real devices"])
def test_a_slow_device_gets_less_work_in_the_simulator(constants: Measured, real: bool) -> None:
    learned, blind = (simulated(constants, learns, real) for learns in (True, False))
    assert work_a_job(learned, 0) < 0.75 * work_a_job(blind, 0)
    for device in (1, 2):
        assert work_a_job(learned, device) >= 0.95 * work_a_job(blind, device)
    taken, taken_blind = (sum(row["slot"] >= 0 for row in rows) for rows in (learned, blind))
    assert taken > taken_blind, "more of the task is done within its window"


def test_a_slow_device_gets_less_work_over_a_network(constants: Measured, tmp_path: Path) -> None:
    def seconds(content: Content) -> float:
        if "place" not in content:
            return 1.0  # it is asked what it has
        i, j = np.asarray(content["device"]), np.asarray(content["place"])
        return float(TRUTH.compute_s(i, j, content["steps"], content["batch"], content["frequency_Hz"]))

    network = Network.of(3, seconds_of=seconds, share_computing=1.0)
    asked = RealRun(
        PROFILE,
        tmp_path / "run",
        "dma-fl-online",
        effort=1.0,
        measured=constants,
        components=components(PROFILE),
    )
    run = run_on_devices(asked, network, time=network.clock.real_time())
    rows = run.periods.to_pylist()
    first = [row["steps"] * row["batch"] for row in rows if row["device"] == 0 and row["slot"] >= 0][:2]
    assert work_a_job(rows, 0) < 0.75 * float(np.mean(first))
    assert [check for check in dmafl.verify_run(run.path) if not check.ok] == []


def test_speeds_are_medians_and_unclear_ones_change_nothing() -> None:
    speeds = Speeds(WORLD)
    usual = float(WORLD.compute_s(np.asarray(1), np.asarray(0), 4, 2, 1e8))
    for factor in (1.0, 1.1, 50.0):
        speeds.on_period(0, 1, 4, 2, 1e8, factor * usual)
    assert speeds.world() is WORLD
    for _ in range(2):
        speeds.on_period(0, 1, 4, 2, 1e8, 8.0 * usual)
    known = speeds.world()
    assert known.devices.cycles_per_sample[:, 0] == pytest.approx(
        WORLD.devices.cycles_per_sample[:, 0] * [1.0, 8.0, 1.0]
    )
    same = (np.asarray([1]), np.asarray([0]), 4, 2, 1e8)
    assert known.compute_J(*same) == pytest.approx(WORLD.compute_J(*same)), "slow need not mean hungry"
    again = Speeds(WORLD)
    again.restore(speeds.state())
    assert np.array_equal(again.factors, speeds.factors)


def test_what_says_nothing_about_speed_is_left_out() -> None:
    speeds = Speeds(WORLD)
    speeds.on_period(0, 1, 4, 2, 1e8, 0.0)
    speeds.on_period(0, 1, 4, 2, 0.0, 3.0)
    speeds.on_period(0, 1, 4, 0, 1e8, 3.0)
    assert speeds.world() is WORLD
