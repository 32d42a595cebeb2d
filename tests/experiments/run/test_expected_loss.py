"""Prediction and bounds beside what a run reached: from its files, the same for anyone who computes them."""

from __future__ import annotations

import json
import shutil
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import dmafl
from dmafl.base.errors import BadInput
from dmafl.calibration.measured import Measured
from dmafl.experiments.run import expected_loss as module
from dmafl.experiments.run.expected_loss import TaskTheory, judged, realised
from dmafl.simulation.periods import Periods
from dmafl.simulation.records import QUALITY
from dmafl.theory.course import predict_jobs
from dmafl.theory.sharp import sharp
from dmafl.theory.theorem1 import theorem1
from support.brought import packed, run_with
from support.small_runs import dataset, scenario, softmax
from support.stopped_runs import Stop, StopsAfter, stop_early
from support.tampering import changed, failed, update
from support.tiny_measurements import FEW, measured
from support.tiny_measurements import TWO_TASKS as SMALL

AGREE = 1e-12


@pytest.fixture(scope="module")
def theory() -> Measured:
    return measured(SMALL, None)


def run(output: Path, **more: Any) -> dmafl.Run:
    stuff = {
        "models": dict.fromkeys(SMALL.tasks, softmax),
        "datasets": {name: dataset() for name in SMALL.tasks},
        "schemes": ["fedasync", "fedbuff"],
    }
    return run_with(SMALL, output=output, **{**stuff, **more})


@pytest.fixture(scope="module")
def judged_run(theory: Measured, tmp_path_factory: pytest.TempPathFactory) -> dmafl.Run:
    return run(tmp_path_factory.mktemp("quality") / "run", measured=theory, seeds=(0, 1))


def rows_of(done: dmafl.Run, **wanted: Any) -> list[dict[str, Any]]:
    rows = done.metrics.to_pylist()
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def jobs_of(done: dmafl.Run, task: str) -> Any:
    own = [
        row
        for row in done.periods.to_pylist()
        if (row["scheme"], row["seed"], row["task"], row["outcome"]) == ("fedasync", 0, task, "aggregated")
    ]
    columns = {name: np.asarray([row[name] for row in own]) for name in own[0]}
    return realised(Periods(columns), SMALL.tasks[task])


@pytest.mark.parametrize("task", SMALL.tasks)
def test_every_row_judges_the_schedule_so_far(judged_run: dmafl.Run, theory: Measured, task: str) -> None:
    jobs, constants = jobs_of(judged_run, task), theory.constants(SMALL, task)
    found = theory.of(task)
    rows = rows_of(judged_run, scheme="fedasync", seed=0, task=task)
    assert [row["aggregation"] for row in rows][-1] == SMALL.tasks[task].slots
    for row in rows[1:]:
        so_far = jobs.first(row["aggregation"])
        predicted = predict_jobs(
            so_far, theory.prediction_constants(SMALL, task), found.labels, found.calibration
        )
        assert row["predicted_loss"] == pytest.approx(predicted.value, rel=AGREE)
        assert row["bound_sharp"] == pytest.approx(sharp(so_far, constants).value, rel=AGREE)
        mixing = SMALL.tasks[task].mixing
        assert row["bound_printed"] == pytest.approx(theorem1(so_far, constants, mixing).value, rel=AGREE)
        assert row["grad_norm2"] < row["bound_sharp"]
    assert all(rows[0][name] is None for name in (*QUALITY, "grad_norm2"))


def test_rounds_and_seeds_that_were_not_measured_have_none(judged_run: dmafl.Run) -> None:
    others = [*rows_of(judged_run, scheme="fedbuff"), *rows_of(judged_run, scheme="fedasync", seed=1)]
    assert {(row["scheme"], row["seed"]) for row in others} == {
        ("fedbuff", 0),
        ("fedbuff", 1),
        ("fedasync", 1),
    }
    assert all(row[name] is None for row in others for name in QUALITY)
    assert all(row["grad_norm2"] is not None for row in others if row["aggregation"] > 0)


def test_the_run_keeps_what_it_was_judged_with(judged_run: dmafl.Run, theory: Measured) -> None:
    assert list(judged_run.manifest.measured) == [0]
    assert judged_run.measured[0].plain() == theory.plain()
    assert dmafl.read_measured(judged_run.path / "measured" / "s0.json").key == theory.key
    assert failed(judged_run.path) == set()


@pytest.mark.parametrize("name", QUALITY)
@pytest.mark.parametrize("change", [lambda value: value * (1 + 1e-6), lambda value: None])
def test_verify_finds_other_values(judged_run: dmafl.Run, tmp_path: Path, name: str, change: Any) -> None:
    path = changed(
        judged_run, tmp_path / "run", "metrics", lambda rows: update(rows[3], **{name: change(rows[3][name])})
    )
    assert failed(path) == {"quality"}


def test_verify_finds_values_where_there_must_be_none(judged_run: dmafl.Run, tmp_path: Path) -> None:
    path = changed(judged_run, tmp_path / "run", "metrics", lambda rows: update(rows[-1], predicted_loss=0.5))
    assert failed(path) == {"quality"}


def test_verify_survives_periods_that_are_no_schedule(judged_run: dmafl.Run, tmp_path: Path) -> None:
    future = changed(
        judged_run, tmp_path / "run", "periods", lambda rows: update(rows[0], version=9, staleness=-9)
    )
    assert {"quality", "versions"} <= failed(future)


def test_measured_constants_that_were_changed_are_found(judged_run: dmafl.Run, tmp_path: Path) -> None:
    path = Path(shutil.copytree(judged_run.path, tmp_path / "run"))
    file = path / "measured" / "s0.json"
    content = json.loads(file.read_text())
    content["tasks"]["a"]["estimates"]["smoothness"]["value"] *= 2
    file.write_text(json.dumps(content))
    assert {"files", "measured"} <= failed(path)
    file.unlink()
    assert {"files", "measured"} <= failed(path)
    with pytest.raises(BadInput, match="measured constants"):
        _ = dmafl.Run(path).measured


def test_how_a_run_is_saved_and_resumed_does_not_matter(theory: Measured, tmp_path: Path) -> None:
    whole = run(tmp_path / "whole", measured=theory)
    stop_early(
        tmp_path / "run",
        40,
        scenario=SMALL,
        measured=theory,
        models=dict.fromkeys(SMALL.tasks, softmax),
        datasets={name: dataset() for name in SMALL.tasks},
    )
    assert dmafl.Run(tmp_path / "run").manifest.status == "running"
    assert failed(tmp_path / "run") == set()
    again = run(tmp_path / "run", resume=True)
    for name in ("metrics.parquet", "periods.parquet", "running.json", "measured/s0.json"):
        assert (again.path / name).read_bytes() == (whole.path / name).read_bytes()


def test_resume_wants_the_same_constants(theory: Measured, tmp_path: Path) -> None:
    with pytest.raises(Stop):
        run(tmp_path / "run", watcher=StopsAfter(30), checkpoint_every_s=0.0, measured=theory)
    other = Measured(theory.key, dict(reversed(theory.tasks.items())) | {"a": theory.tasks["b"]})
    with pytest.raises(BadInput, match="must be the measured constants that the run was begun with"):
        run(tmp_path / "run", resume=True, measured=other)
    assert run(tmp_path / "run", resume=True, measured=theory).manifest.status == "finished"


def test_constants_of_another_world_are_refused_before_anything_runs(tmp_path: Path) -> None:
    other = measured(scenario({"one": {"samples": 12}}, devices=3), None, probes=0)
    with pytest.raises(BadInput, match="must be one of those measured"):
        run(tmp_path / "run", measured=other)
    assert not (tmp_path / "run").exists()


def test_constants_alone_give_bounds_but_no_prediction(tmp_path: Path) -> None:
    done = run(tmp_path / "run", measured=measured(SMALL, None, probes=0), schemes=["fedasync"])
    last = rows_of(done, task="a")[-1]
    assert last["predicted_loss"] is None
    assert last["bound_sharp"] > 0
    assert failed(done.path) == set()


def test_what_was_measured_before_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DMAFL_CACHE_DIR", str(tmp_path / "cache"))
    assert run(tmp_path / "before", schemes=["fedasync"]).manifest.measured == {}
    dmafl.measure(
        SMALL,
        probes=0,
        **packed(models=dict.fromkeys(SMALL.tasks, softmax), datasets=dict.fromkeys(SMALL.tasks, dataset())),
    )
    done = run(tmp_path / "run", schemes=["fedasync"])
    assert list(done.manifest.measured) == [0]
    assert run(tmp_path / "none", schemes=["fedasync"], measured={}).manifest.measured == {}


def test_a_bound_that_is_too_large_is_left_out(judged_run: dmafl.Run, theory: Measured) -> None:
    """Term (e) of Theorem 1 grows like (K alpha)^G."""
    jobs = jobs_of(judged_run, "a")
    many = {name: np.resize(one, 2000) for name, one in vars(jobs).items() if isinstance(one, np.ndarray)}
    long = jobs.with_(**many | {"version": np.maximum(0, np.arange(2000) - 5)})
    found = judged(long, [0, 5, 2000], TaskTheory.of(theory, judged_run.world(0), "a"))
    assert np.isnan(found["bound_printed"]).tolist() == [True, False, True]
    assert np.isfinite(found["predicted_loss"]).tolist() == [False, True, True]


def test_long_runs_are_looked_at_here_and_there(
    judged_run: dmafl.Run, theory: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_SLOTS", 25)
    own = TaskTheory.of(theory, judged_run.world(0), "a")
    found = judged(jobs_of(judged_run, "a"), list(range(21)), own)
    assert np.isfinite(found["bound_sharp"]).sum() == 3
    assert np.isfinite(found["bound_sharp"][20])


def test_picture_and_table_show_both(judged_run: dmafl.Run, tmp_path: Path) -> None:
    from rich.console import Console

    from dmafl.reports.terminal.run_table import outcome_table
    from dmafl.reports.terminal.shown_table import shown_table

    assert judged_run.plot_quality(tmp_path / "quality.png").axes
    assert (tmp_path / "quality.png").stat().st_size > 10_000
    out = Console(width=200, record=True, file=StringIO())
    out.print(shown_table(outcome_table(judged_run.metrics)))
    text = out.export_text()
    assert "predicted" in text
    last = rows_of(judged_run, scheme="fedasync", seed=0, task="a")[-1]
    assert f"{last['predicted_accuracy']:.3f}" in text


def test_accuracies_are_those_of_the_calibration(judged_run: dmafl.Run) -> None:
    rows = [row for row in rows_of(judged_run, scheme="fedasync", seed=0, task="a") if row["aggregation"] > 0]
    assert rows
    for row in rows:
        low, middle, high = (row[f"predicted_accuracy{end}"] for end in ("_low", "", "_high"))
        assert 0.0 <= low <= high <= 1.0
        assert 0.0 <= middle <= 1.0


def test_a_run_without_them_is_drawn_too(tmp_path: Path) -> None:
    done = run(tmp_path / "run", schemes=["fedavg-full"])
    assert len(done.plot_quality().axes) == 2 * len(done.scenario.tasks)
    assert not (tmp_path / "run" / "quality.png").exists()


def test_the_columns_are_the_last_of_the_metrics(judged_run: dmafl.Run) -> None:
    names = pq.read_table(judged_run.path / "metrics.parquet").column_names
    predicted = ["predicted_loss", "predicted_accuracy", "predicted_accuracy_low", "predicted_accuracy_high"]
    assert names[-7:] == [*predicted, "grad_norm2", "bound_printed", "bound_sharp"]
    assert judged_run.measured[0].of("a").cost.probes == FEW
