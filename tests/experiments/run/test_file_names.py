"""Names of schemes and tasks are part of file names: what would lie elsewhere, or be too long, is refused at once."""

from __future__ import annotations

import json
import shutil

import pytest

import dmafl
from dmafl.experiments.run.file_names import check_file_names, measured_file, plan_file
from dmafl.simulation.run_name import RunName
from support.brought import run_with
from support.small_runs import scenario


@pytest.mark.parametrize("name", ["../../x", "/tmp/x", "a/b", "..", "a\\b", "a\x00b", "x" * 300, "a\x1bb"])
def test_a_scheme_of_the_user_cannot_lead_out_of_the_folder(name, tmp_path):
    with pytest.raises(dmafl.BadInput, match=r"components.schemes.*must have names that a file may have"):
        run_with(scenario(), own_schemes={name: lambda world: []}, output=tmp_path / "run")
    assert not any(tmp_path.iterdir())


def test_usual_names_are_taken():
    check_file_names(
        [RunName("fedasync", 0), RunName("mein schema (2)", 1), RunName("$a$", 0)], ["mnist", "größe"]
    )


def test_names_that_are_too_long_together_are_refused():
    check_file_names([RunName("fedavg-partial", 2**63 - 1)], ["数" * 40])
    with pytest.raises(dmafl.BadInput, match="at most 220 bytes"):
        check_file_names([RunName("fedavg-partial", 2**63 - 1)], ["数" * 60])


def test_a_task_that_the_system_cannot_write_is_refused(monkeypatch):
    monkeypatch.setattr("sys.getfilesystemencoding", lambda: "ascii")
    with pytest.raises(dmafl.BadInput, match="PYTHONUTF8=1"):
        check_file_names([RunName("fedasync", 0)], ["größe"])


def test_a_manifest_whose_schemes_lead_elsewhere_is_refused(finished, tmp_path):
    run = shutil.copytree(finished.path, tmp_path / "run")
    text = json.dumps(json.loads((run / "manifest.json").read_text()))
    (run / "manifest.json").write_text(text.replace("fedasync", "../../fedasync"))
    with pytest.raises(dmafl.BadInput, match="names that a file may have"):
        _ = dmafl.Run(run).manifest


def test_a_run_is_opened_by_a_path_or_by_text(finished):
    assert dmafl.Run(str(finished.path)).metrics.equals(finished.metrics)
    assert dmafl.Run(str(finished.path)) == dmafl.Run(finished.path)


def test_where_plans_and_measured_constants_lie():
    assert plan_file(RunName("dma-fl", 3)) == "plans/dma-fl-s3.json"
    assert plan_file("scheduled") == "plans/scheduled.json"
    assert measured_file(7) == "measured/s7.json"
