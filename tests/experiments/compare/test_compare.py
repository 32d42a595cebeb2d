"""Two runs side by side: what was run, and what came out."""

from __future__ import annotations

import json
import shutil
from math import exp, isnan, log
from pathlib import Path

import numpy as np
import pytest

import dmafl
from dmafl.experiments.compare.curves import Curve
from dmafl.experiments.compare.effects import effect
from support.brought import run_with
from support.small_runs import dataset, scenario, softmax

T_975_1 = 12.706205
"""Student's quantile with one degree of freedom, from a printed table."""


def curve(accuracy: list[float], energy: list[float], every: int = 1) -> Curve:
    return Curve(np.arange(len(accuracy)) * float(every), np.asarray(accuracy), np.asarray(energy))


def test_effect_of_pairs_by_hand() -> None:
    a = {
        1: curve([0.1, 0.2, 0.5], [0.0, 2.0, 4.0]),
        2: curve([0.1, 0.4, 0.5], [0.0, 2.0, 4.0]),
        9: curve([0.9, 0.9, 0.9], [0.0, 9.0, 9.0]),
    }
    b = {1: curve([0.1, 0.5, 0.6], [0.0, 1.0, 3.0]), 2: curve([0.1, 0.4, 0.7], [0.0, 1.0, 2.0])}
    found = effect("t", "x", "y", a, b)
    assert found.pairs == 2
    assert found.final_accuracy.mean == pytest.approx((0.1 + 0.2) / 2)
    assert found.final_accuracy.half == pytest.approx(T_975_1 * 0.05, rel=1e-6)
    assert found.mean_accuracy.mean == pytest.approx((0.4 / 3 + 0.2 / 3) / 2)
    assert found.target == pytest.approx(0.5)  # the lower final accuracy, of either seed
    assert found.log_energy_ratio.mean == pytest.approx((log(1 / 4) + log(2 / 4)) / 2)
    assert found.energy_ratio[0] == pytest.approx(exp(found.log_energy_ratio.mean))
    assert found.not_reached == 0


def test_runs_of_different_length_are_averaged_over_what_both_have() -> None:
    short, long = curve([0.0, 0.2, 0.4], [0, 1, 2]), curve([0.0, 0.4, 0.8], [0, 1, 2], every=2)
    found = effect("t", "x", "y", {0: short}, {0: long})
    assert found.mean_accuracy.mean == pytest.approx(0.0)  # 0, 0.2, 0.4 in both
    assert found.final_accuracy.mean == pytest.approx(0.4)
    assert isnan(found.final_accuracy.half)


def test_an_accuracy_of_the_first_model_has_no_ratio() -> None:
    stuck, good = curve([0.1, 0.1], [0.0, 5.0]), curve([0.1, 0.8], [0.0, 2.0])
    found = effect("t", "x", "y", {0: stuck, 1: good}, {0: good, 1: good})
    assert found.log_energy_ratio.n == 1
    assert found.log_energy_ratio.mean == pytest.approx(0.0)


def test_without_common_seeds_means_are_compared_and_missed_targets_counted() -> None:
    a = {0: curve([0.1, 0.4], [0.0, 2.0]), 1: curve([0.1, 0.6], [0.0, 2.0])}
    b = {2: curve([0.1, 0.9], [0.0, 8.0]), 3: curve([0.1, 0.9], [0.0, 8.0])}
    found = effect("t", "x", "y", a, b)
    assert (found.pairs, found.target, found.not_reached) == (0, pytest.approx(0.5), 1)
    assert found.final_accuracy.mean == pytest.approx(0.4)
    assert found.log_energy_ratio.mean == pytest.approx(log(4))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dmafl.Run]:
    """Runs of one small scenario, and of one with another learning rate and another task."""
    folder = tmp_path_factory.mktemp("compared")
    plain = scenario({"a": {}, "b": {"slots": 5}}, devices=3)
    other = scenario({"a": {"learning_rate": 0.2}, "c": {"slots": 5}}, devices=3)

    def run(name: str, of: dmafl.Scenario, schemes: list[str], seeds: list[int]) -> dmafl.Run:
        return run_with(
            of,
            schemes=schemes,
            seeds=seeds,
            output=folder / name,
            models=dict.fromkeys(of.tasks, softmax),
            datasets={task: dataset() for task in of.tasks},
        )

    return {
        "plain": run("plain", plain, ["fedasync", "fedbuff"], [0, 1, 2]),
        "other": run("other", other, ["fedasync"], [1, 2, 3]),
        "rounds": run("rounds", plain, ["fedavg-full"], [1]),
    }


def test_same_run_has_no_differences(runs: dict[str, dmafl.Run]) -> None:
    found = dmafl.compare(runs["plain"], runs["plain"].path)
    assert found.differences == ()
    assert {(one.first, one.task) for one in found.effects} == {
        (scheme, task) for scheme in ("fedasync", "fedbuff") for task in "ab"
    }
    assert all(one.mean_accuracy.mean == 0 and one.pairs == 3 for one in found.effects)
    learned = [one for one in found.effects if one.target > 0.4 and not one.at_chance]
    assert learned and all(one.energy_ratio == pytest.approx((1, 1, 1)) for one in learned)


def test_differences_of_scenario_and_run(runs: dict[str, dmafl.Run]) -> None:
    found = dmafl.compare(runs["plain"], runs["other"])
    told = {(one.kind, one.key): (one.first, one.second) for one in found.differences}
    assert told["scenario", "tasks.a.learning_rate"][1] == "0.2"
    assert told["scenario", "tasks.b"] == ("there", "-")
    assert told["scenario", "tasks.c"] == ("-", "there")
    assert told["run", "seeds"] == ("0, 1, 2", "1, 2, 3")
    assert not [key for kind, key in told if key.startswith(("tasks.b.", "tasks.c."))]
    assert [(one.task, one.first, one.pairs) for one in found.effects] == [("a", "fedasync", 2)]
    row = found.effects_table.to_pylist()[0]
    assert row["mean_accuracy_n"] == 2
    assert row["final_accuracy"] == found.effects[0].final_accuracy.mean
    assert found.differences_table.num_rows == len(found.differences)


def test_the_differences_are_those_of_the_metrics(runs: dict[str, dmafl.Run]) -> None:
    last = {
        name: {
            row["seed"]: row["accuracy"]
            for row in run.metrics.to_pylist()
            if (row["scheme"], row["task"]) == ("fedasync", "a")
        }
        for name, run in runs.items()
    }
    found = dmafl.compare(runs["plain"], runs["other"]).effects[0]
    wanted = [last["other"][seed] - last["plain"][seed] for seed in (1, 2)]
    assert found.final_accuracy.mean == pytest.approx(np.mean(wanted))


def test_one_scheme_each_and_no_scheme_in_common(runs: dict[str, dmafl.Run]) -> None:
    one = dmafl.compare(runs["other"], runs["rounds"])
    assert [(e.first, e.second, e.task, e.pairs) for e in one.effects] == [
        ("fedasync", "fedavg-full", "a", 1)
    ]
    none = dmafl.compare(runs["plain"], runs["rounds"])
    assert none.effects == ()
    assert "No scheme is in both (fedasync, fedbuff; fedavg-full)" in none.note


def test_versions_data_and_worlds(runs: dict[str, dmafl.Run], tmp_path: Path) -> None:
    shutil.copytree(runs["plain"].path, tmp_path / "copy")
    path = tmp_path / "copy" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["versions"]["torch"] = "0.0"
    manifest["data"]["a"]["sha256"] = "f" * 64
    manifest["worlds"]["1"]["devices"]["battery_J"][0] *= 2
    path.write_text(json.dumps(manifest))
    told = {
        (one.kind, one.key): one.second for one in dmafl.compare(runs["plain"], tmp_path / "copy").differences
    }
    assert told == {
        ("version", "torch"): "0.0",
        ("data", "a.sha256"): "f" * 12,
        ("run", "devices of seed 1"): "another",
    }


def test_command_shows_both_tables(command, runs: dict[str, dmafl.Run]) -> None:
    shown = command("compare", runs["plain"].path, runs["other"].path)
    assert shown.code == 0
    assert "tasks.a.learning_rate" in shown.out
    found = dmafl.compare(runs["plain"], runs["other"]).effects[0]
    assert f"{found.final_accuracy.mean:+.4f} ± {found.final_accuracy.half:.4f}" in shown.out
    alone = command("compare", runs["rounds"].path, runs["other"].path)
    assert "One seed has no interval" in alone.out
    assert "fedasync against fedavg-full" in " ".join(alone.out.replace("│", " ").split())


@pytest.mark.parametrize("spoil", ["nothing there", "no manifest", "no json", "metrics", "scenario", "data"])
def test_damaged_and_foreign_folders(command, runs: dict[str, dmafl.Run], tmp_path: Path, spoil: str) -> None:
    folder = tmp_path / "spoiled"
    if spoil != "nothing there":
        shutil.copytree(runs["plain"].path, folder)
    manifest = folder / "manifest.json"
    match spoil:
        case "no manifest":
            manifest.unlink()
        case "no json":
            manifest.write_text("{")
        case "metrics":
            (folder / "metrics.parquet").write_bytes(b"PAR1 but not really")
        case "scenario":
            content = json.loads(manifest.read_text())
            manifest.write_text(json.dumps(content | {"scenario": {"tasks": 3}}))
        case "data":
            content = json.loads(manifest.read_text())
            manifest.write_text(json.dumps(content | {"data": {"a": None}}))
    shown = command("compare", runs["plain"].path, folder)
    assert shown.code == 2
    assert shown.err.startswith("error: `")
    assert "Traceback" not in shown.err
