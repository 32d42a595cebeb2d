"""`verify` finds what was changed about devices that left: absences, and the periods that ended by it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dmafl
from support.brought import run_with
from support.churn import RANDOM
from support.small_runs import dataset, scenario, softmax
from support.tampering import Rows, changed, changed_manifest, failed, update

SCHEMES = ("fedasync", "fedavg-full")


@pytest.fixture(scope="module")
def restless(tmp_path_factory: pytest.TempPathFactory) -> dmafl.Run:
    """A run whose devices leave in every phase of a job."""
    small = scenario({"one": {"slots": 30, "cycles_per_sample": 1e6}}, devices=5, availability=RANDOM)
    return run_with(
        small,
        schemes=SCHEMES,
        output=tmp_path_factory.mktemp("restless") / "run",
        models={"one": softmax},
        datasets={"one": dataset()},
        measured={},
    )


def cut(rows: Rows, phase: str) -> dict[str, Any]:
    """A period that was ended in this phase."""
    later = {"download": ("compute_s", "upload_s"), "compute": ("upload_s",), "upload": ()}[phase]
    return next(
        row
        for row in rows
        if row["outcome"] == "failed: left"
        and row[f"{phase}_s"] > 0
        and all(row[name] == 0 for name in later)
    )


def taken(rows: Rows) -> dict[str, Any]:
    return next(row for row in rows if row["outcome"] == "aggregated" and row["start_s"] > 0.1)


def test_the_run_is_such_that_these_tests_show_something(restless: dmafl.Run) -> None:
    assert failed(restless.path) == set()
    rows = restless.periods.to_pylist()
    for phase in ("download", "compute", "upload"):
        assert cut(rows, phase)


CHANGES: dict[str, tuple[str, Callable[[Rows], Any]]] = {
    "a computation that was cut off cost nothing": (
        "energy",
        lambda rows: update(cut(rows, "compute"), compute_J=0.0),
    ),
    "it cost all of what it would have cost": (
        "energy",
        lambda rows: update(cut(rows, "compute"), compute_J=cut(rows, "compute")["compute_J"] * 1.01),
    ),
    "it was shorter": (
        "durations",
        lambda rows: update(cut(rows, "compute"), compute_s=cut(rows, "compute")["compute_s"] * 0.9),
    ),
    "an upload that was cut off cost nothing": (
        "energy",
        lambda rows: update(cut(rows, "upload"), uplink_J=0.0),
    ),
    "a download that was cut off was shorter": (
        "durations",
        lambda rows: update(cut(rows, "download"), download_s=cut(rows, "download")["download_s"] * 0.9),
    ),
    "a period failed for another reason": (
        "losses",
        lambda rows: update(cut(rows, "compute"), outcome="failed: battery"),
    ),
    "a period failed by leaving when nobody left": (
        "availability",
        lambda rows: update(taken(rows), outcome="failed: left", slot=-1, staleness=-1, mix_weight=0.0),
    ),
    "a period of a device that is away": (
        "availability",
        lambda rows: update(cut(rows, "compute"), end_s=cut(rows, "compute")["end_s"] + 0.01),
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_a_period_is_found(restless: dmafl.Run, tmp_path: Path, name: str) -> None:
    rule, change = CHANGES[name]
    assert rule in failed(changed(restless, tmp_path / "run", "periods", change))


def absences(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    return manifest["units"]["fedasync-s0"]["absences"]


MANIFESTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "an absence is gone": lambda manifest: absences(manifest).pop(0),
    "one more absence": lambda manifest: absences(manifest).append(
        {"device": 0, "left_s": 0.001, "joined_s": 0.002}
    ),
    "a device came back later": lambda manifest: absences(manifest)[0].update(
        joined_s=absences(manifest)[0]["joined_s"] + 1e-3
    ),
    "a device left earlier": lambda manifest: absences(manifest)[-1].update(
        left_s=absences(manifest)[-1]["left_s"] * 0.999
    ),
    "a device never came back": lambda manifest: absences(manifest)[0].update(joined_s=None),
    "nobody was away": lambda manifest: manifest["units"]["fedasync-s0"].pop("absences"),
    "devices were there longer": lambda manifest: manifest["worlds"]["0"]["settings"]["availability"].update(
        mean_on_s=0.3
    ),
    "a device of no fleet": lambda manifest: absences(manifest)[0].update(device=77),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_change_of_the_manifest_is_found(restless: dmafl.Run, tmp_path: Path, name: str) -> None:
    assert "availability" in failed(changed_manifest(restless, tmp_path / "run", MANIFESTS[name]))


@pytest.mark.parametrize(
    "entry",
    [
        {"device": 0},
        {"device": 0, "left_s": -1.0, "joined_s": None},
        {"device": 0, "left_s": 1.0, "joined_s": "x"},
    ],
)
def test_absences_that_are_none_are_refused(restless: dmafl.Run, tmp_path: Path, entry: Any) -> None:
    path = changed_manifest(restless, tmp_path / "run", lambda manifest: absences(manifest).append(entry))
    with pytest.raises(dmafl.BadInput, match="absences"):
        dmafl.verify_run(path)


def test_a_user_availability_is_in_the_files(tmp_path: Path) -> None:
    """So that the run is checked as completely as any other."""
    from support.churn import Times

    own = Times({0: [(0.0, 0.05), (0.2, 1e4)], 1: [(0.1, 1e4)]})
    small = scenario({"one": {"slots": 12}})
    components = dmafl.Components(models={"one": softmax}, data={"one": dataset()}, availability=own)
    run = dmafl.run(small, schemes=SCHEMES, output=tmp_path / "run", components=components, measured={})
    assert failed(run.path) == set()
    assert run.manifest.own.world == ()
    assert run.manifest.scheme_run(run.manifest.run_names[0]).outcome.absences
    path = changed_manifest(
        run,
        tmp_path / "changed",
        lambda manifest: manifest["worlds"]["0"]["availability"]["to_s"].__setitem__(0, 0.06),
    )
    assert "availability" in failed(path)
