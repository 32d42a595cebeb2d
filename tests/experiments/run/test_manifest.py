"""The manifest as a value: what was read is written again, byte for byte, and a change makes a new one."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import pytest

from dmafl.base.errors import BadInput
from dmafl.base.files import json_bytes
from dmafl.experiments.run.folder import RunFolder
from dmafl.experiments.run.manifest import Manifest, OwnParts, manifest_checksum
from dmafl.experiments.run.statuses import FINISHED, WAITING, RunStatus, SchemeRunStatus
from dmafl.simulation.outcome import DeviceLoss, SchemeOutcome, TaskOutcome
from dmafl.simulation.run_name import RunName
from support.made_up_runs import write_run

HERE = Path("manifest.json")


@pytest.fixture
def content(tmp_path: Path) -> dict[str, Any]:
    """A manifest with a scheme run of every kind: finished, failed before and after it began, waiting again."""
    run = write_run(tmp_path / "run", ("dma-fl", "fedasync", "fedbuff", "fedavg-full"), (7,), jobs=20)
    given: dict[str, Any] = json.loads((run / "manifest.json").read_text())
    scheme_runs = given["units"]
    scheme_runs["fedasync-s7"] = {"status": "failed: `tasks` must be: two; got none. Name them."}
    scheme_runs["fedbuff-s7"] |= {
        "status": "failed: ",
        "lost": [{"task": "mnist", "device": 3, "reason": "battery", "time_s": 12}],
        "rounds": True,
    }
    scheme_runs["fedavg-full-s7"] |= {"status": "waiting"}
    given |= {
        "status": "failed",
        "plan_sha256": "a" * 64,
        "measured": {"7": "b" * 64},
        "files": {"metrics.parquet": "c" * 64, "models/dma-fl-s7-mnist.safetensors": "d" * 64},
        "own": {"schemes": ["x"], "models": ["a"], "datasets": [], "streams": [], "world": ["channel"]},
    }
    return given | {"sha256": manifest_checksum(given)}


def test_it_is_written_as_it_was_read(content: dict[str, Any]) -> None:
    manifest = Manifest.from_plain(content, HERE)
    assert json_bytes(manifest.plain()) == json_bytes(content)
    assert manifest.sha256 == manifest.checksum
    assert Manifest.from_plain(manifest.plain(), HERE) == manifest


def test_it_is_written_into_a_folder_as_it_was_read(content: dict[str, Any], tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.manifest_path.write_bytes(json_bytes(content))
    folder.checksums = dict(content["files"])
    folder.write_manifest(folder.read_manifest())
    assert folder.manifest_path.read_bytes() == json_bytes(content)


def test_its_fields_have_types(content: dict[str, Any]) -> None:
    manifest = Manifest.from_plain(content, HERE)
    assert manifest.status is RunStatus.FAILED
    assert manifest.run_names == [RunName(scheme, 7) for scheme in content["schemes"]]
    assert list(manifest.worlds) == list(manifest.measured) == [7]
    assert manifest.world(7).scenario.seed == 7
    assert manifest.read_scenario().name == "made up"
    assert manifest.own == OwnParts(schemes=("x",), models=("a",), world=("channel",))
    assert not manifest.data["mnist"].stand_in
    lost = manifest.scheme_run(RunName("fedbuff", 7)).outcome
    assert lost is not None
    assert lost.lost == (DeviceLoss("mnist", 3, "battery", 12),)
    assert lost.tasks["mnist"] == TaskOutcome(100, 100, 0)


def test_what_a_scheme_run_says_of_its_end(content: dict[str, Any]) -> None:
    scheme_runs = Manifest.from_plain(content, HERE).scheme_runs
    assert [scheme_run.ended for scheme_run in scheme_runs.values()] == [True, False, True, False]
    assert [scheme_run.one_by_one for scheme_run in scheme_runs.values()] == [True, False, False, True]


def test_a_change_makes_a_new_one(content: dict[str, Any]) -> None:
    manifest = Manifest.from_plain(content, HERE)
    outcome = SchemeOutcome({"mnist": TaskOutcome(1, 2, 0), "fashion_mnist": TaskOutcome(2, 2, 0)}, (), True)
    ended = manifest.with_scheme_run("fedasync-s7", FINISHED, outcome)
    assert ended.scheme_runs["fedasync-s7"].outcome == outcome
    assert manifest.scheme_runs["fedasync-s7"].outcome is None
    assert list(ended.scheme_runs) == list(manifest.scheme_runs)
    again = ended.with_scheme_run("fedasync-s7", WAITING)
    assert again.scheme_runs["fedasync-s7"].outcome == outcome  # as it ended before
    assert ended.sha256 != ended.checksum
    sealed = ended.sealed({"b": "e" * 64, "a": "f" * 64})
    assert sealed.sha256 == sealed.checksum
    assert list(sealed.files) == ["a", "b"]
    with pytest.raises(FrozenInstanceError):
        manifest.status = RunStatus.RUNNING  # type: ignore[misc]


def test_damage_is_seen(content: dict[str, Any]) -> None:
    manifest = Manifest.from_plain(content, HERE)
    assert replace(manifest, versions={"dmafl": "0"}).checksum != manifest.sha256
    with pytest.raises(BadInput, match=r"units\.dma-fl-s7\.status` must be waiting, finished or failed"):
        Manifest.from_plain(content | {"units": content["units"] | {"dma-fl-s7": {"status": "done"}}}, HERE)
    with pytest.raises(BadInput, match="status` must be one of running, finished, failed"):
        Manifest.from_plain(content | {"status": "done"}, HERE)


@pytest.mark.parametrize("text", ["waiting", "finished", "failed: ", "failed: failed: why"])
def test_the_status_of_a_scheme_run_keeps_its_words(text: str) -> None:
    assert str(SchemeRunStatus.parse(text)) == text


@pytest.mark.parametrize("text", ["", "failed", "running", "Finished", "waiting "])
def test_other_words_are_no_status_of_a_scheme_run(text: str) -> None:
    with pytest.raises(ValueError, match="no status of a scheme run"):
        SchemeRunStatus.parse(text)


def test_a_run_that_has_not_finished_has_a_remedy() -> None:
    assert [bool(status.remedy) for status in RunStatus] == [True, False, True]
    assert [status.ended for status in RunStatus] == [False, True, True]
