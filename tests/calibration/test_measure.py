"""Measuring: what is kept, what is measured again, and that nothing depends on how it is carried out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dmafl
from dmafl.base.processes.stopping import Interrupted
from dmafl.calibration import constants_of_task, probing
from dmafl.learning.divergence import diverged
from support.small_runs import dataset, scenario
from support.tiny_measurements import FEW, CountingWatcher, Stopping, hidden_layer, measured, outcome, tiny


def refuse(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("measured again")


def test_a_second_call_measures_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = measured(tiny(), tmp_path)
    monkeypatch.setattr(constants_of_task, "_measured", refuse)
    monkeypatch.setattr(probing, "carry_out", refuse)
    again = measured(tiny(), tmp_path)
    assert again.plain() == first.plain()


def test_more_probes_measure_no_constants_and_no_probe_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = measured(tiny(), tmp_path, probes=0)
    assert few.tasks["one"].calibration is None
    assert few.tasks["one"].cost.probes == 0
    monkeypatch.setattr(constants_of_task, "_measured", refuse)
    measured(tiny(), tmp_path)
    watcher = CountingWatcher()
    more = measured(tiny(), tmp_path, probes=FEW + 3, watcher=watcher)
    assert watcher.totals == [(FEW, FEW + 3)]
    assert watcher.done == 3
    assert more.tasks["one"].calibration.probes == FEW + 3
    assert more.plain()["tasks"]["one"]["estimates"] == few.plain()["tasks"]["one"]["estimates"]


def test_workers_do_not_change_the_outcome(tmp_path: Path) -> None:
    alone = measured(tiny(), None)
    watcher = CountingWatcher()
    together = measured(tiny(), tmp_path, workers=2, watcher=watcher)
    assert outcome(together) == outcome(alone)
    assert watcher.done == FEW


def test_nothing_is_kept_without_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DMAFL_CACHE_DIR", str(tmp_path))
    measured(tiny(), None, probes=0)
    assert not (tmp_path / "measured").exists()


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupted_measurement_goes_on(tmp_path: Path, workers: int) -> None:
    with pytest.raises(Interrupted, match=f"of {FEW} probes are done"):
        measured(tiny(), tmp_path, workers=workers, watcher=Stopping(after=3))
    watcher = CountingWatcher()
    result = measured(tiny(), tmp_path, workers=workers, watcher=watcher)
    (kept, total) = watcher.totals[0]
    assert kept >= 3
    assert watcher.done == total - kept
    (said,) = watcher.stages  # constants and warm-up were kept
    assert said.startswith(f"{total - kept} probes of 100 aggregations, about ")
    assert outcome(result) == outcome(measured(tiny(), None))


def test_what_cannot_be_read_is_measured_again(tmp_path: Path) -> None:
    first = measured(tiny(), tmp_path)
    for path in tmp_path.rglob("*.*"):
        path.write_bytes(path.read_bytes()[:-9])
    (next((tmp_path / "constants").iterdir())).write_text("{}")
    assert outcome(measured(tiny(), tmp_path)) == outcome(first)


def test_deep_models_are_warmed_up_and_the_cost_is_stated(tmp_path: Path) -> None:
    cost = measured(tiny(), tmp_path).tasks["one"].cost
    assert (cost.probes, cost.slots, cost.warm_up_slots, cost.diverged) == (FEW, 100, 60, 0)
    assert cost.constants_s > 0
    assert cost.probes_s > 0


def test_diverged_probes_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    real = probing.carry_out

    def sometimes(trainer: Any, task: int, jobs: Any, number: int, *more: Any) -> Any:
        if number in lost:
            raise diverged("loss", "inf", "Lower the learning rate.")
        return real(trainer, task, jobs, number, *more)

    monkeypatch.setattr(probing, "carry_out", sometimes)
    lost = {1, 5}
    task = measured(tiny(), None, probes=FEW + 2).tasks["one"]
    assert task.cost.diverged == 2
    assert task.calibration.probes == FEW
    lost = set(range(3))
    task = measured(tiny(), None).tasks["one"]
    assert task.cost.diverged == 3
    assert task.calibration is None


def test_other_modules_and_data_are_told_apart(tmp_path: Path) -> None:
    size = {"parameters": sum(weights.numel() for weights in hidden_layer().parameters())}
    keys = {
        measured(tiny(), tmp_path, probes=0).key,
        measured(tiny(**size), tmp_path, probes=0, models={"one": hidden_layer}).key,
        measured(tiny(), tmp_path, probes=0, datasets={"one": dataset(seed=1)}).key,
    }
    assert len(keys) == 3


@pytest.mark.parametrize(
    ("given", "name"), [({"probes": 5}, "probes"), ({"probes": -1}, "probes"), ({"workers": 0}, "workers")]
)
def test_bad_arguments(given: dict[str, int], name: str) -> None:
    with pytest.raises(dmafl.BadInput, match=f"`{name}` must be"):
        measured(tiny(), None, **given)


def test_material_for_no_task_is_refused_also_from_the_cache(tmp_path: Path) -> None:
    measured(tiny(), tmp_path, probes=0)
    with pytest.raises(dmafl.BadInput, match="must be for one of the tasks one"):
        measured(tiny(), tmp_path, probes=0, datasets={"one": dataset(), "two": dataset()})


def test_several_tasks_and_a_file(tmp_path: Path) -> None:
    both = scenario({"one": {"samples": 12}, "two": {"samples": 15, "learning_rate": 0.2}}, devices=3)
    together = measured(both, tmp_path / "cache")
    assert list(together.tasks) == ["one", "two"]
    dmafl.write_measured(together, tmp_path / "measured.json")
    read = dmafl.read_measured(tmp_path / "measured.json")
    assert read.plain() == together.plain() == json.loads((tmp_path / "measured.json").read_text())
