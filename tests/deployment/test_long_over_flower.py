"""A long run over Flower beside the simulator's: four devices, forty aggregations, the same seed and schedule."""

from __future__ import annotations

from pathlib import Path

import pytest

import dmafl
from dmafl.world.world import World
from support.flower import need
from support.real_deployments import RUN_S, cheap, deployed

pytestmark = [pytest.mark.deploy_long, pytest.mark.timeout(3 * RUN_S)]
FOUR = cheap(4, 20)
ALIKE = 0.03
"""Of the accuracy on the same test samples; updates may arrive in another order than in the simulator."""


def test_accuracies_are_those_of_the_simulator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need()
    monkeypatch.setenv("DMAFL_DATA_DIR", "")
    world = World.resolve(FOUR)
    plan = dmafl.Plan(world, dmafl.round_robin(world, in_flight=2))
    dmafl.write_plan(plan, tmp_path / "jobs.json")
    simulated = dmafl.run(plan, schemes=["scheduled"], output=tmp_path / "simulated", measure="never")
    with deployed(tmp_path, FOUR) as there:
        there.run(tmp_path / "real", "--scheme", "scheduled", "--plan", tmp_path / "jobs.json")
    real = dmafl.Run(tmp_path / "real")
    assert [str(check) for check in dmafl.verify_run(real.path) if not check.ok] == []
    last = [{row["task"]: row for row in run.metrics.to_pylist()} for run in (simulated, real)]
    for task in FOUR.tasks:
        of_simulator, of_devices = last[0][task], last[1][task]
        assert of_simulator["aggregation"] == of_devices["aggregation"] == 20
        print(f"{task}: {of_devices['accuracy']:.4f}, simulated {of_simulator['accuracy']:.4f}")  # noqa: T201
        assert of_devices["accuracy"] == pytest.approx(of_simulator["accuracy"], abs=ALIKE)
        assert of_devices["accuracy"] > 0.5
