"""Local models that are not finite: left out, counted, paid for, and told of."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from torch import nn

import dmafl
from dmafl.base.errors import Problem
from dmafl.calibration.measured import Measured
from dmafl.experiments.run.diverged_updates import diverged_notes
from dmafl.experiments.run.manifest import Manifest
from dmafl.experiments.run.state import state_of_run
from dmafl.experiments.run.verify import verify_run
from dmafl.learning.divergence import LocalModelDiverged
from dmafl.reports.terminal.sweep_table import sweep_table
from dmafl.simulation.records import QUALITY
from dmafl.training.trainer import Trainer, TrainingOrder
from support import stopped_runs
from support.brought import run_with
from support.small_runs import CLASSES, FEATURES, dataset, scenario, softmax
from support.stopped_runs import Stop, StopsAfter
from support.tampering import changed_manifest, seal
from support.tiny_files import Files
from support.tiny_measurements import TWO_TASKS, measured

SMALL = scenario(
    {"one": {"slots": 12, "batch_max": 3}, "two": {"slots": 6, "batch_max": 3}},
    evaluation={"every": 1, "samples": 20},
)
BRIGHT = 0.40
"""Mean brightness of an image above which training on it breaks down; some images are."""


class Fragile(nn.Module):
    """Softmax regression whose training breaks down with a bright image in the batch."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(FEATURES, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = self.inner(x.flatten(1))
        broken = self.training and bool((x.flatten(1).mean(dim=1) > BRIGHT).any())
        return scores * float("inf") if broken else scores


def run(output: Path, **more: Any) -> dmafl.Run:
    stuff = {
        "models": dict.fromkeys(SMALL.tasks, Fragile),
        "datasets": {name: dataset() for name in SMALL.tasks},
        "schemes": ["fedasync", "fedbuff", "fedavg-full", "fedavg-partial"],
    }
    return run_with(SMALL, output=output, **{**stuff, **more})


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> dmafl.Run:
    return run(tmp_path_factory.mktemp("diverged_notes") / "run")


def diverged(done: dmafl.Run, scheme_run: str, task: str) -> int:
    """Local models of a task that were not finite, as the manifest says."""
    outcome = done.manifest.scheme_runs[scheme_run].outcome
    assert outcome is not None
    return outcome.tasks[task].diverged


def test_every_scheme_completes_its_slots_and_counts_what_it_left_out(finished: dmafl.Run) -> None:
    rows = finished.periods.to_pandas()
    some = 0
    for name, scheme_run in finished.manifest.scheme_runs.items():
        assert str(scheme_run.status) == "finished"
        assert scheme_run.outcome is not None
        for task, told in scheme_run.outcome.tasks.items():
            assert told.aggregations == told.slots
            own = rows[(rows.scheme == name.removesuffix("-s0")) & (rows.task == task)]
            broken = own[own.outcome == "diverged"]
            assert told.diverged == len(broken)
            some += len(broken)
            assert (broken.mix_weight == 0).all()
            assert (broken[["uplink_J", "compute_J", "downlink_J"]] > 0).all(axis=None)
            assert (own[own.outcome == "aggregated"].mix_weight > 0).all()
    assert 20 < some < 0.7 * len(rows)
    assert np.isfinite(finished.metrics.column("loss").to_numpy()).all()


def test_the_global_model_stays_where_it_was(finished: dmafl.Run) -> None:
    """With tests at every aggregation: a slot of a broken model has the loss of the one before, others do not."""
    metrics, rows = finished.metrics.to_pandas(), finished.periods.to_pandas()
    metrics = metrics[(metrics.scheme == "fedasync") & (metrics.task == "one")].iloc[
        :-1
    ]  # all before the full test
    change = np.abs(np.diff(metrics.loss.to_numpy()))
    own = rows[(rows.scheme == "fedasync") & (rows.task == "one") & (rows.slot >= 0)].sort_values("slot")
    broken = (own.outcome == "diverged").to_numpy()[: len(change)]
    assert 0 < broken.sum() < len(change)
    assert (change[broken] < 1e-6).all()
    assert (change[~broken] > 1e-5).all()


def test_the_run_verifies_and_a_weight_of_a_broken_model_is_found(
    finished: dmafl.Run, tmp_path: Path
) -> None:
    assert all(check.ok for check in verify_run(finished.path))
    copy = shutil.copytree(finished.path, tmp_path / "copy")
    table = pq.read_table(copy / "periods.parquet")
    for row in (
        table.column("outcome").to_pylist().index("diverged"),
        len(table) - 1 - table.column("outcome").to_pylist()[::-1].index("diverged"),
    ):
        weights = table.column("mix_weight").to_numpy().copy()
        weights[row] = 0.1
        place = table.schema.get_field_index("mix_weight")
        pq.write_table(
            table.set_column(place, table.schema.field(place), pa.array(weights)), copy / "periods.parquet"
        )
        seal(copy)
        assert [check.name for check in verify_run(copy) if not check.ok] == ["weights"]


def test_workers_and_a_stop_half_way_change_nothing(finished: dmafl.Run, tmp_path: Path) -> None:
    side_by_side = run(tmp_path / "workers", workers=2)
    with pytest.raises(Stop):
        run(tmp_path / "stopped", watcher=StopsAfter(70), checkpoint_every_s=0.0)
    resumed = run(tmp_path / "stopped", resume=True)
    for other in (side_by_side, resumed):
        for name in ("metrics.parquet", "periods.parquet", "running.json"):
            assert (other.path / name).read_bytes() == (finished.path / name).read_bytes()
        assert other.manifest.scheme_runs == finished.manifest.scheme_runs


def test_people_are_told(finished: dmafl.Run, command: Any, tmp_path: Path) -> None:
    lines = diverged_notes(finished.manifest)
    assert len(lines) == len(SMALL.tasks)
    told = {name: diverged(finished, name, "one") for name in finished.manifest.scheme_runs}
    assert lines[0].startswith(
        f"{sum(told.values())} local models of one were not finite and changed nothing"
    )
    assert lines[0].endswith("Lower tasks.one.learning_rate.")
    for name, count in told.items():
        assert f"{name}: {count}" in lines[0]
    page = tmp_path / "page.html"
    assert command("report", finished.path, "-o", page).code == 0
    assert lines[0] in page.read_text()
    manifest = json.loads((finished.path / "manifest.json").read_text())
    for scheme_run in manifest["units"].values():
        for task in scheme_run["tasks"].values():
            task["diverged"] = 0
    assert diverged_notes(Manifest.from_plain(manifest, Path("manifest.json"))) == []
    manifest["units"]["fedasync-s0"]["tasks"]["two"]["diverged"] = 1
    changed = Manifest.from_plain(manifest, Path("manifest.json"))
    assert diverged_notes(changed)[0].startswith("1 local model of two was not finite")


def test_running_estimates_do_without_them(finished: dmafl.Run) -> None:
    rows = finished.periods.to_pandas()
    assert set(finished.running) == set(finished.manifest.scheme_runs)
    for name, tasks in finished.running.items():
        assert set(tasks) == set(SMALL.tasks)
        for task, told in tasks.items():
            own = rows[(rows.scheme == name.removesuffix("-s0")) & (rows.task == task)]
            good = own[own.outcome == "aggregated"].device.value_counts()
            assert told["jobs"] == [int(good.get(device, 0)) for device in range(SMALL.fleet.devices)]
            seen = [device for device in range(SMALL.fleet.devices) if told["jobs"][device]]
            assert all(told["gram"][i][k] is not None for i in seen for k in seen)


def test_a_count_that_the_rows_do_not_have_is_found(finished: dmafl.Run, tmp_path: Path) -> None:
    def change(manifest: dict[str, Any]) -> None:
        manifest["units"]["fedbuff-s0"]["tasks"]["one"]["diverged"] += 1

    copy = changed_manifest(finished, tmp_path / "copy", change)
    assert [check.name for check in verify_run(copy) if not check.ok] == ["complete"]


# -- training that breaks down where a test says so ---------------------------------------------------


def break_down(monkeypatch: pytest.MonkeyPatch, when: Callable[[TrainingOrder], bool]) -> None:
    """Let the training of some orders diverge."""
    train = Trainer.train

    def sometimes(self: Trainer, order: TrainingOrder, received: Any) -> Any:
        if when(order):
            raise LocalModelDiverged(Problem("local model", "must stay finite", "nan", "Lower it."))
        return train(self, order, received)

    monkeypatch.setattr(Trainer, "train", sometimes)


@pytest.fixture(scope="module")
def theory() -> Measured:
    return measured(TWO_TASKS, None)


def test_theory_of_a_run_in_which_nothing_was_mixed_in(
    theory: Measured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_down(monkeypatch, lambda order: order.task == 0)
    done = stopped_runs.run(tmp_path / "run", scenario=TWO_TASKS, measured=theory, schemes=["fedasync"])
    assert done.manifest.status == "finished"
    rows = done.metrics.to_pandas()
    assert rows[rows.task == "a"][list(QUALITY)].isna().all(axis=None)
    assert rows[rows.task == "b"][list(QUALITY)].iloc[-1].notna().all()
    assert all(check.ok for check in verify_run(done.path))


def test_theory_of_a_run_that_began_with_one(
    theory: Measured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prediction and sharp bound see a job of weight 0; the printed one cannot."""
    left = [2]

    def first_two(order: TrainingOrder) -> bool:
        left[0] -= order.task == 0
        return order.task == 0 and left[0] >= 0

    break_down(monkeypatch, first_two)
    done = stopped_runs.run(tmp_path / "run", scenario=TWO_TASKS, measured=theory, schemes=["fedasync"])
    assert diverged(done, "fedasync-s0", "a") == 2
    rows = done.metrics.to_pandas()
    own = rows[(rows.task == "a") & (rows.aggregation > 2)]
    assert own[["predicted_loss", "bound_sharp"]].notna().all(axis=None)
    assert own.bound_printed.isna().all()
    assert all(check.ok for check in verify_run(done.path))


def test_a_plan_is_revised_from_all_slots_that_are_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = dmafl.World.resolve(SMALL)
    plan = dmafl.Plan(world, dmafl.round_robin(world, in_flight=2))
    break_down(monkeypatch, lambda order: order.device == 1)
    done = run(
        tmp_path / "run",
        plan=plan,
        schemes=["scheduled"],
        models=dict.fromkeys(SMALL.tasks, softmax),
    )
    assert all(diverged(done, "scheduled-s0", task) for task in SMALL.tasks)
    state = state_of_run(done.path, plan)
    for j, slots in enumerate(world.slots):
        assert sorted(state.jobs.slot[state.jobs.task == j].tolist()) == list(range(slots))


def test_the_command_and_a_sweep_tell(
    command: Any, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_down(monkeypatch, lambda order: order.device == 1 and order.task == 0)
    monkeypatch.setattr(dmafl.Run, "plot", lambda self, path=None: None)
    monkeypatch.setattr(dmafl.Run, "plot_quality", lambda self, path=None: None)
    told = command(
        *("run", files.scenario, "--data-dir", files.data, "--scheme", "fedavg-full"),
        *("--workers", 1, "-o", tmp_path / "run"),
    )
    assert told.code == 0
    flat = " ".join(told.out.split())
    assert "5 local models of one were not finite and changed nothing (fedavg-full-s0: 5)." in flat
    assert "Lower tasks.one.learning_rate." in flat
    given = dmafl.load(files.scenario)
    swept = dmafl.sweep(
        given,
        {"tasks.one.learning_rate": [0.01]},
        scheme="fedavg-full",
        output=tmp_path / "sweep",
        data_dir=files.data,
    )
    assert [(row["task"], row["jobs"], row["diverged"]) for row in swept.table.to_pylist()] == [
        ("one", 15, 5),
        ("two", 9, 0),
    ]
    assert "diverged" in titles(swept.table, swept.keys)
    rows = [row | {"diverged": 0} for row in swept.table.to_pylist()]
    assert "diverged" not in titles(pa.Table.from_pylist(rows, swept.table.schema), swept.keys)


def titles(rows: pa.Table, keys: list[str]) -> list[str]:
    return [column.title for column in sweep_table(rows, keys).columns]
