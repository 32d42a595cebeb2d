"""Prediction and bounds as `dmafl run` shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

import dmafl
from support.tiny_files import Files

FEW = 12


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DMAFL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")


def arguments(files: Files, folder: Path, *more: object) -> list[object]:
    fixed = ["run", files.scenario, "--data-dir", files.data, "--workers", 1, "-o", folder]
    return [*fixed, "--scheme", "fedasync", "--scheme", "fedavg-full", *more]


def test_without_constants_a_line_says_what_adds_them(files: Files, command, tmp_path: Path) -> None:
    outcome = command(*arguments(files, tmp_path / "run"))
    assert outcome.code == 0, outcome.err
    line = f"No prediction and no bounds: `dmafl measure {files.scenario}` adds them to the next run."
    assert line in outcome.out.replace("\n", " ")
    assert "predicted" not in outcome.out
    assert (tmp_path / "run" / "quality.png").exists()


def test_rounds_have_nothing_to_miss(files: Files, command, tmp_path: Path) -> None:
    fixed = ["run", files.scenario, "--data-dir", files.data, "--workers", 1, "-o", tmp_path / "run"]
    assert "No prediction" not in command(*fixed, "--scheme", "fedavg-full").out


def test_measure_then_run_then_verify(files: Files, command, tmp_path: Path) -> None:
    file = tmp_path / "measured.json"
    fixed = ["--data-dir", files.data, "--workers", 1]
    assert command("measure", files.scenario, *fixed, "--probes", 12, "-o", file).code == 0
    outcome = command(*arguments(files, tmp_path / "run", "--measured", file, "--seeds", "0,3"))
    assert outcome.code == 0, outcome.err
    assert "predicted" in outcome.out
    assert "No prediction and no bounds for seed 3:" in outcome.out
    done = dmafl.Run(tmp_path / "run")
    rows = [row for row in done.metrics.to_pylist() if (row["scheme"], row["seed"]) == ("fedasync", 0)]
    later = [row["predicted_loss"] for row in rows if row["aggregation"] > 0]
    assert len(later) >= 2
    assert None not in later
    assert command("verify", tmp_path / "run").code == 0


def test_measure_first(files: Files, command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dmafl.calibration.random_jobs.PROBES", FEW)
    monkeypatch.setattr("dmafl.calibration.random_jobs.DEEP_PROBES", FEW)
    outcome = command(*arguments(files, tmp_path / "run", "--measure", "--seeds", "1-2"))
    assert outcome.code == 0, outcome.err
    assert "No prediction and no bounds" not in outcome.out
    assert list(dmafl.Run(tmp_path / "run").measured) == [1, 2]


def test_both_is_one_too_many(files: Files, command, tmp_path: Path) -> None:
    outcome = command(*arguments(files, tmp_path / "run", "--measure", "--measured", "x.json"))
    assert outcome.code == 2
    assert "--measured" in outcome.err
    missing = command(*arguments(files, tmp_path / "run", "--measured", tmp_path / "none.json"))
    assert missing.code == 2
    assert "none.json" in missing.err
