"""Sweeps: the right points, kept and taken again, with what runs and plans themselves say."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dmafl
from dmafl.base.errors import BadInput
from dmafl.experiments.sweep.sweep_folder import Sweep
from support.patience import ended, wait_until
from support.tiny_files import Files

FEW = 12


def folders(sweep: Path) -> dict[str, int]:
    """The points and when their last file was written."""
    return {
        one.name: max(file.stat().st_mtime_ns for file in one.rglob("*") if file.is_file())
        for one in (sweep / "points").iterdir()
    }


def test_rows_are_those_of_the_runs(files: Files, tmp_path: Path) -> None:
    scenario = dmafl.load(files.scenario)
    done = dmafl.sweep(
        scenario,
        {"tasks.one.learning_rate": [0.01, 0.1], "channel.kind": ["rayleigh", "fixed"]},
        scheme="fedasync",
        seeds=[0, 1],
        output=tmp_path,
        data_dir=files.data,
    )
    rows = done.table.to_pylist()
    assert len(rows) == 2 * 2 * 2 * 2
    assert done.keys == ["tasks.one.learning_rate", "channel.kind"]
    assert not done.failures
    for row in rows:
        run = dmafl.Run(tmp_path / "points" / row["point"])
        assert run.scenario.tasks["one"].learning_rate == row["tasks.one.learning_rate"]
        assert run.scenario.channel.kind == row["channel.kind"]
        assert run.manifest.seeds == (row["seed"],)
        last = [one for one in run.metrics.to_pylist() if one["task"] == row["task"]][-1]
        assert [row[name] for name in ("loss", "accuracy", "energy_J", "uplink_J")] == [
            last[name] for name in ("loss", "accuracy", "energy_J", "uplink_J")
        ]
        periods = [one for one in run.periods.to_pylist() if one["task"] == row["task"]]
        assert row["idle_s"] == pytest.approx(sum(one["idle_s"] for one in periods))
        taken = [one for one in periods if one["outcome"] == "aggregated"]
        assert row["devices"] == len({one["device"] for one in taken})
        assert row["staleness"] == pytest.approx(np.mean([one["staleness"] for one in taken]))
        assert all(check.ok for check in dmafl.verify_run(run.path))
    point = rows[0]["point"]
    assert sum(row["steps_share"] for row in rows if row["point"] == point) == pytest.approx(1)
    for name, draw in {"pareto.png": done.plot, "responses.png": done.plot_responses}.items():
        assert draw(tmp_path / name).axes
        assert (tmp_path / name).stat().st_size > 10_000


def test_an_extended_sweep_does_only_what_is_new(files: Files, tmp_path: Path) -> None:
    scenario = dmafl.load(files.scenario)

    def sweep(rates: list[float], seeds: list[int]) -> Sweep:
        return dmafl.sweep(
            scenario,
            {"tasks.*.learning_rate": rates},
            scheme="fedasync",
            seeds=seeds,
            output=tmp_path,
            data_dir=files.data,
        )

    sweep([0.01, 0.1], [0])
    before = folders(tmp_path)
    assert len(before) == 2
    done = sweep([0.01, 0.1, 0.2], [0, 3])
    after = folders(tmp_path)
    assert len(after) == 6
    assert before.items() <= after.items()
    assert done.table.num_rows == 12
    data = dict(np.load(files.data / "tiny.npz"))
    data["x_train"] = 255 - data["x_train"]
    np.savez(tmp_path / "tiny.npz", **data)
    dmafl.sweep(
        scenario, {"tasks.*.learning_rate": [0.1]}, scheme="fedasync", output=tmp_path, data_dir=tmp_path
    )
    assert len(folders(tmp_path)) == 7, "other data are another point"


@pytest.fixture(scope="module")
def measured(files: Files) -> Path:
    path = files.data / "measured.json"
    scenario = dmafl.load(files.scenario)
    dmafl.write_measured(dmafl.measure(scenario, probes=FEW, data_dir=files.data, use_cache=False), path)
    return path


@pytest.mark.parametrize("name", ["manifest.json", "metrics.parquet"])
def test_a_damaged_point_is_put_aside_and_done_again(
    files: Files,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    name: str,
) -> None:
    def swept() -> Sweep:
        return dmafl.sweep(
            dmafl.load(files.scenario),
            {"tasks.one.learning_rate": [0.01, 0.1]},
            scheme="fedasync",
            output=tmp_path / "sweep",
            data_dir=files.data,
        )

    first = swept()
    rows, before = first.table.to_pylist(), folders(first.path)
    damaged = first.path / "points" / rows[0]["point"]
    (damaged / name).write_bytes((damaged / name).read_bytes()[:-20])
    again = swept()
    assert again.table.to_pylist() == rows
    whole = rows[-1]["point"]
    assert folders(again.path)[whole] == before[whole], "what is whole beside it is still used"
    assert damaged.with_name(f"{damaged.name}.damaged").is_dir()
    (message,) = (record.getMessage() for record in caplog.records)
    assert name in message


def test_plans_alone(command, files: Files, measured: Path, tmp_path: Path) -> None:
    arguments = (
        *("sweep", files.scenario, "--set", "tasks.one.importance=0.01,100", "--plan-only", "--seeds", "0,1"),
        *(
            "--measured",
            measured,
            "--data-dir",
            files.data,
            "--effort",
            1,
            "--workers",
            1,
            "-o",
            tmp_path / "s",
        ),
    )
    shown = command(*arguments)
    assert shown.code == 0, shown.err
    assert "4 points" in shown.out
    rows = Sweep(tmp_path / "s").table.to_pylist()
    assert len(rows) == 8
    for row in rows:
        plan = dmafl.read_plan(
            tmp_path / "s" / "points" / row["point"] / "plans" / f"dma-fl-s{row['seed']}.json"
        ).plan
        own = plan.schedule.task == plan.world.task_names.index(row["task"])
        assert row["predicted_loss"] == pytest.approx(plan.terms[row["task"]]["quality"])
        assert row["steps"] == plan.schedule.steps[own].sum()
        assert row["compute_s"] == pytest.approx(plan.timeline.compute_s[own].sum())
        assert row["accuracy"] is None
    loss = {
        value: np.mean(
            [r["predicted_loss"] for r in rows if (r["task"], r["tasks.one.importance"]) == ("one", value)]
        )
        for value in (0.01, 100.0)
    }
    assert loss[100.0] <= loss[0.01]
    before = folders(tmp_path / "s")
    again = command(*arguments)
    assert "4 of them there already" in again.out
    assert folders(tmp_path / "s") == before


def test_points_that_cannot_be_done_are_told(command, files: Files, measured: Path, tmp_path: Path) -> None:
    arguments = (
        *(
            "--plan-only",
            "--measured",
            measured,
            "--data-dir",
            files.data,
            "--effort",
            0.2,
            "--workers",
            1,
        ),
        *("-o", tmp_path / "s"),
    )
    shown = command("sweep", files.scenario, "--set", "tasks.one.window_s=1e-4,1000", *arguments)
    assert shown.code == 0, shown.err
    assert "tasks.one.window_s=0.0001, seed 0 cannot be done: `" in shown.out
    assert Sweep(tmp_path / "s").table.num_rows == 2
    none = command("sweep", files.scenario, "--set", "tasks.one.window_s=1e-4", *arguments)
    assert none.code == 2
    assert "must leave at least one point" in none.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--set", "tasks.one.importence=1"], "Did you mean `tasks.one.importance`?"),
        (["--set", "tasks.one.slots=0"], "`tasks.one.slots` must be >= 1"),
        (["--set", "tasks.one.slots=3", "--set", "tasks.*.slots=4"], "must set what no other key sets"),
        (["--set", "tasks.one.slots=3", "--scheme", "fedasinc"], "Did you mean 'fedasync'?"),
        (["--set", "tasks.one.slots=3", "--scheme", "scheduled"], "must not need a plan"),
        (["--set", "tasks.one.slots=3", "--scheme", "fedasync", "--plan-only"], "must be one that plans"),
        (["--set", "tasks.one.slots"], "must look like KEY=V1,V2"),
        (["--set", "tasks.one.slots=3", "--seeds", "x"], "seeds"),
    ],
)
def test_bad_input(command, files: Files, tmp_path: Path, arguments: list[str], said: str) -> None:
    shown = command("sweep", files.scenario, "--data-dir", files.data, "-o", tmp_path / "s", *arguments)
    assert shown.code == 2
    assert said in shown.err
    assert not (tmp_path / "s").exists()


def test_too_many_and_no_values() -> None:
    scenario = dmafl.preset("demo")
    with pytest.raises(BadInput, match="at least one key"):
        dmafl.sweep(scenario, {}, scheme="fedasync")
    with pytest.raises(BadInput, match="at least one value"):
        dmafl.sweep(scenario, {"fleet.devices": []}, scheme="fedasync")
    with pytest.raises(BadInput, match="100,000 combinations"):
        many = list(range(1, 1001))
        dmafl.sweep(scenario, {"fleet.devices": many, "tasks.mnist.slots": many}, scheme="fedasync")


def test_the_folder_of_a_run_is_no_place_for_a_sweep(files: Files, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(BadInput, match="must be a folder for a sweep"):
        dmafl.sweep(dmafl.load(files.scenario), {"tasks.one.slots": [3]}, scheme="fedasync", output=tmp_path)


def test_a_stopped_sweep_goes_on(files: Files, tmp_path: Path) -> None:
    """Ctrl-C to the whole group, as a terminal sends it, then the same again: as if nothing had happened."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "dmafl", "sweep", files.scenario, "--data-dir", files.data),
            *("--scheme", "fedasync", "--set", "tasks.one.slots=400,401", "--workers", "2"),
            *("-o", tmp_path / "stopped"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_until(lambda: list(tmp_path.glob("stopped/points/*/manifest.json")), "the first point")
    os.killpg(process.pid, signal.SIGINT)
    _, told = ended(process)
    assert process.returncode == 130, told
    assert "the same command goes on" in told
    assert "Traceback" not in told
    assert not (tmp_path / "stopped" / "sweep.json").exists()
    begun = [json.loads(one.read_text()) for one in tmp_path.glob("stopped/points/*/manifest.json")]
    assert "running" in {one["status"] for one in begun}
    assert list(tmp_path.glob("stopped/points/*/checkpoint/*/state.json"))
    stopped, whole = (
        dmafl.sweep(
            dmafl.load(files.scenario),
            {"tasks.one.slots": [400, 401]},
            scheme="fedasync",
            output=tmp_path / name,
            data_dir=files.data,
        )
        for name in ("stopped", "whole")
    )
    assert stopped.table.equals(whole.table)
    assert set(folders(stopped.path)) == set(folders(whole.path))
