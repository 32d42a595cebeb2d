"""Trackers get every row of metrics, as it comes; packages that are not there are asked for by name."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import dmafl
from dmafl.base.errors import BadInput
from support.brought import run_with
from support.small_runs import dataset, scenario, softmax
from support.stopped_runs import Stop, StopsAfter

VALUES = ("accuracy", "loss", "energy_J", "time_s")


class Log:
    """What a fake package was told: curve -> [(step, value), ...], by scheme run; and which scheme runs were closed."""

    def __init__(self) -> None:
        self.curves: dict[str, dict[str, list[tuple[int, float]]]] = defaultdict(lambda: defaultdict(list))
        self.closed: list[str] = []
        self.about: dict[str, Any] = {}


def module(name: str, monkeypatch: pytest.MonkeyPatch, **members: Any) -> None:
    made = ModuleType(name)
    for key, value in members.items():
        setattr(made, key, value)
    monkeypatch.setitem(sys.modules, name, made)


def fake_tensorboard(monkeypatch: pytest.MonkeyPatch, log: Log) -> None:
    class SummaryWriter:
        def __init__(self, folder: str) -> None:
            self.scheme_run = Path(folder).name
            log.about[self.scheme_run] = folder

        def add_scalar(self, curve: str, value: float, step: int) -> None:
            log.curves[self.scheme_run][curve.replace("/", ".")].append((step, value))

        def close(self) -> None:
            log.closed.append(self.scheme_run)

    module("tensorboardX", monkeypatch, SummaryWriter=SummaryWriter)


def fake_mlflow(monkeypatch: pytest.MonkeyPatch, log: Log) -> None:
    class MlflowClient:
        def get_experiment_by_name(self, name: str) -> None:
            log.about["experiment"] = name

        def create_experiment(self, name: str) -> str:
            return f"id of {name}"

        def create_run(self, experiment: str, run_name: str) -> Any:
            assert experiment == "id of small"
            return SimpleNamespace(info=SimpleNamespace(run_id=run_name))

        def log_metric(self, run: str, key: str, value: float, step: int) -> None:
            log.curves[run][key].append((step, value))

        def set_terminated(self, run: str) -> None:
            log.closed.append(run)

    module("mlflow", monkeypatch, MlflowClient=MlflowClient)


def fake_wandb(monkeypatch: pytest.MonkeyPatch, log: Log) -> None:
    class Session:
        def __init__(self, name: str) -> None:
            self.name = name

        def log(self, values: dict[str, float]) -> None:
            (step,) = (value for key, value in values.items() if key.endswith("aggregation"))
            for key, value in values.items():
                if not key.endswith("aggregation"):
                    log.curves[self.name][key.replace("/", ".")].append((step, value))

        def finish(self) -> None:
            log.closed.append(self.name)

    def init(*, project: str, name: str, **more: Any) -> Session:
        log.about["project"] = project
        return Session(name)

    module("wandb", monkeypatch, init=init)


FAKES = {"tensorboard": fake_tensorboard, "mlflow": fake_mlflow, "wandb": fake_wandb}


def run(output: Path, **more: Any) -> dmafl.Run:
    small = scenario({"a": {}, "b": {"slots": 4}})
    return run_with(
        small,
        schemes=["fedasync", "fedavg-full"],
        output=output,
        models=dict.fromkeys(small.tasks, softmax),
        datasets={name: dataset() for name in small.tasks},
        **more,
    )


def expected(done: dmafl.Run) -> dict[str, dict[str, list[tuple[int, float]]]]:
    curves: dict[str, dict[str, list[tuple[int, float]]]] = defaultdict(lambda: defaultdict(list))
    for row in done.metrics.to_pylist():
        for value in VALUES:
            curves[f"{row['scheme']}-s{row['seed']}"][f"{row['task']}.{value}"].append(
                (row["aggregation"], row[value])
            )
    return curves


@pytest.mark.parametrize("tracker", FAKES)
@pytest.mark.parametrize("every_s", [0.0, 1e9])
def test_every_row_is_sent_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tracker: str, every_s: float
) -> None:
    log = Log()
    FAKES[tracker](monkeypatch, log)
    done = run(tmp_path / "run", trackers=[tracker], checkpoint_every_s=every_s)
    assert log.curves == expected(done)
    assert sorted(log.closed) == sorted(log.curves)


def test_several_trackers_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = {tracker: Log() for tracker in FAKES}
    for tracker, fake in FAKES.items():
        fake(monkeypatch, logs[tracker])
    done = run(tmp_path / "run", trackers=list(FAKES))
    assert all(log.curves == expected(done) for log in logs.values())
    assert logs["wandb"].about["project"] == "dmafl-small"
    assert logs["tensorboard"].about["fedasync-s0"] == str(done.path / "tensorboard" / "fedasync-s0")


def test_trackers_are_closed_when_a_run_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    log = Log()
    fake_tensorboard(monkeypatch, log)
    with pytest.raises(Stop):
        run(tmp_path / "run", trackers=["tensorboard"], checkpoint_every_s=0.0, watcher=StopsAfter(10))
    assert log.closed == ["fedasync-s0"]


@pytest.mark.parametrize(
    ("tracker", "package"), [("tensorboard", "tensorboardX"), ("mlflow", "mlflow"), ("wandb", "wandb")]
)
def test_a_package_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tracker: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    with pytest.raises(BadInput) as caught:
        run(tmp_path / "run", trackers=[tracker])
    text = str(caught.value)
    assert text.startswith(f"`tracker` must have the package {package} installed; got no such package.")
    assert f"pip install '.[{tracker}]'" in text
    assert not (tmp_path / "run").exists(), "nothing was begun"


def test_the_extras_named_in_the_remedy_exist() -> None:
    import tomllib

    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert set(FAKES) <= set(project["optional-dependencies"])


def test_an_unknown_tracker(tmp_path: Path) -> None:
    with pytest.raises(
        BadInput, match="`tracker` must be one of tensorboard, mlflow, wandb; got 'tensorbord'"
    ):
        run(tmp_path / "run", trackers=["tensorbord"])
    assert not (tmp_path / "run").exists()


def test_resuming_with_a_tracker_sends_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are sent after they are saved: a resumed run repeats none of them."""

    log = Log()
    fake_mlflow(monkeypatch, log)
    with pytest.raises(Stop):
        run(tmp_path / "run", trackers=["mlflow"], checkpoint_every_s=0.0, watcher=StopsAfter(30))
    done = run(tmp_path / "run", trackers=["mlflow"], checkpoint_every_s=0.0, resume=True)
    assert log.curves == expected(done)
