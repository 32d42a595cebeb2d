"""Local models that are not finite: left out, counted, paid for, and told of."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from torch import nn

import dmafl
from dmafl.runs.left_out import left_out
from dmafl.runs.verify import verify_run
from runs.test_folder import Stop, StopsAfter
from simulation.small import CLASSES, FEATURES, dataset, scenario

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
    return dmafl.run(SMALL, output=output, **{**stuff, **more})


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> dmafl.Run:
    return run(tmp_path_factory.mktemp("left_out") / "run")


def test_every_scheme_completes_its_slots_and_counts_what_it_left_out(finished: dmafl.Run) -> None:
    rows = finished.periods.to_pandas()
    some = 0
    for name, unit in finished.manifest["units"].items():
        assert unit["status"] == "finished"
        for task, told in unit["tasks"].items():
            assert told["aggregations"] == told["of"]
            own = rows[(rows.scheme == name.removesuffix("-s0")) & (rows.task == task)]
            broken = own[own.outcome == "diverged"]
            assert told["diverged"] == len(broken)
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
        assert [check.name for check in verify_run(copy) if not check.ok] == ["weights"]


def test_workers_and_a_stop_half_way_change_nothing(finished: dmafl.Run, tmp_path: Path) -> None:
    side_by_side = run(tmp_path / "workers", workers=2)
    with pytest.raises(Stop):
        run(tmp_path / "stopped", watcher=StopsAfter(70), checkpoint_every_s=0.0)
    resumed = run(tmp_path / "stopped", resume=True)
    for other in (side_by_side, resumed):
        for name in ("metrics.parquet", "periods.parquet", "running.json"):
            assert (other.path / name).read_bytes() == (finished.path / name).read_bytes()
        assert other.manifest["units"] == finished.manifest["units"]


def test_people_are_told(finished: dmafl.Run, command: Any, tmp_path: Path) -> None:
    lines = left_out(finished.manifest)
    assert len(lines) == len(SMALL.tasks)
    told = {name: unit["tasks"]["one"]["diverged"] for name, unit in finished.manifest["units"].items()}
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
    for unit in manifest["units"].values():
        for task in unit["tasks"].values():
            task["diverged"] = 0
    assert left_out(manifest) == []
