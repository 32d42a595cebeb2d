"""`verify --retest` tests the last models again, with the data of the run."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmafl
from dmafl.learning import saving
from support.tampering import changed, copied, seal
from support.tiny_files import Files, write_files


@pytest.fixture(scope="module")
def tested(tmp_path_factory: pytest.TempPathFactory) -> tuple[Files, dmafl.Run]:
    files = write_files(tmp_path_factory.mktemp("retest"))
    scenario = dmafl.load(files.scenario)
    run = dmafl.run(
        scenario,
        schemes=["fedasync", "fedavg-full"],
        output=files.data / "run",
        data_dir=files.data,
        measured={},
    )
    return files, run


def broken(path: Path, data: Path) -> list[str]:
    return [check.name for check in dmafl.verify_run(path, retest=True, data_dir=data) if not check.ok]


def test_what_was_trained_holds(tested: tuple[Files, dmafl.Run], command: Any) -> None:
    files, run = tested
    outcome = command("verify", run.path, "--retest", "--data-dir", files.data)
    assert outcome.code == 0, outcome
    assert "retest" in outcome.out


def test_another_model_is_found_although_everything_else_fits(
    tested: tuple[Files, dmafl.Run], tmp_path: Path
) -> None:
    files, run = tested
    path = copied(run, tmp_path / "run")
    file = path / "models" / "fedasync-s0-one.safetensors"
    found = saving.load(file)
    saving.save(file, np.zeros_like(found.parameters), found.layout, found.metadata)
    assert broken(seal(path), files.data) == ["retest"]


def test_another_last_accuracy_is_found(tested: tuple[Files, dmafl.Run], tmp_path: Path) -> None:
    files, run = tested

    def better(rows: list[dict[str, Any]]) -> None:
        rows[-1]["accuracy"] = 1.0

    assert broken(changed(run, tmp_path / "run", "metrics", better), files.data) == ["retest"]


def test_other_data_are_named(tested: tuple[Files, dmafl.Run], tmp_path: Path) -> None:
    others = write_files(tmp_path / "others", seed=1)
    checks = dmafl.verify_run(tested[1].path, retest=True, data_dir=others.data)
    assert "the data here are others" in str(checks[-1])
    shutil.rmtree(others.data)


def test_models_of_the_users_own_are_left_out(finished: dmafl.Run) -> None:
    check = dmafl.verify_run(finished.path, retest=True)[-1]
    assert check.ok
    assert check.note.startswith("Not tested again")


def test_a_plan_that_was_changed_is_not_carried_out_on_resume(tmp_path: Path) -> None:
    from dmafl.experiments.run.folder import RunFolder
    from support.small_runs import scenario

    world = dmafl.World.resolve(scenario())
    folder = RunFolder(tmp_path)
    folder.write_plan("dma-fl-s0", dmafl.Plan(world, dmafl.round_robin(world)))
    assert folder.read_plan("dma-fl-s0") is not None
    dmafl.write_plan(
        dmafl.Plan(world, dmafl.round_robin(world, in_flight=2)), tmp_path / "plans" / "dma-fl-s0.json"
    )
    with pytest.raises(dmafl.base.errors.BadInput, match="checksum"):
        folder.read_plan("dma-fl-s0")
