"""What goes wrong in a run: one message with name, rule, value and remedy; what was computed before stays."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from torch import nn

import dmafl
from dmafl.base.errors import BadInput
from dmafl.world.world import World
from support.brought import run_with
from support.small_runs import CLASSES, FEATURES, dataset, five_outputs, scenario, softmax
from support.tampering import write_manifest
from support.tiny_files import Files, write_files


class Exploding(nn.Module):
    """Learns for a while, then its numbers leave the finite range: the gradient grows with every step."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(FEATURES, CLASSES)
        self.depth = nn.Parameter(torch.tensor(1.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x.flatten(1)) * torch.exp(self.depth * 4) * self.inner.weight.square().sum().exp()


@pytest.fixture(autouse=True)
def _without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than the small runs themselves."""
    monkeypatch.setattr(dmafl.Run, "plot", lambda self, path=None: None)
    monkeypatch.setattr(dmafl.Run, "plot_quality", lambda self, path=None: None)


def run(output: Path, **more: Any) -> dmafl.Run:
    small = more.pop("scenario", None) or scenario()
    stuff = {
        "models": dict.fromkeys(small.tasks, softmax),
        "datasets": {name: dataset() for name in small.tasks},
        "schemes": ["fedasync"],
    }
    return run_with(small, output=output, **{**stuff, **more})


def assert_helpful(text: str) -> None:
    """Name, rule, value, remedy, as one message."""
    assert text.startswith("`")
    assert "` must " in text
    assert "; got " in text
    assert text.rstrip().endswith((".", "?", ")")) or "'" in text[-3:]


# -- models and data ----------------------------------------------------------------------------------


def three_classes_short() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(FEATURES, CLASSES - 1))


def wrong_shape() -> nn.Module:
    return nn.Linear(7, CLASSES)


@pytest.mark.parametrize(
    ("model", "parameters", "message"),
    [
        (
            three_classes_short,
            34,
            r"`model` must have an output for each of the labels 0\.\.2; got 2 outputs",
        ),
        (wrong_shape, 24, r"`model` must accept a batch of shape"),
        (lambda: "not a module", 51, r"`model` must make a torch nn\.Module; got str"),
    ],
    ids=["too few outputs", "wrong shape", "no module"],
)
def test_a_model_that_does_not_fit_its_data(
    tmp_path: Path, model: Any, parameters: int, message: str
) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        run(tmp_path / "run", scenario=scenario({"one": {"parameters": parameters}}), models={"one": model})
    assert_helpful(str(caught.value))


def test_a_model_with_five_outputs_for_ten_labels(tmp_path: Path) -> None:
    ten = dataset(100, 30, classes=10)
    small = scenario({"one": {"parameters": 85}})
    with pytest.raises(
        BadInput, match=r"`model` must have an output for each of the labels 0\.\.9; got 5 outputs"
    ):
        run(tmp_path / "run", scenario=small, models={"one": five_outputs}, datasets={"one": ten})


def test_a_model_with_another_size_than_the_scenario_says(tmp_path: Path) -> None:
    """`parameters` decides what goes on the air: a model of another size would be charged for the wrong bits."""
    with pytest.raises(BadInput, match="parameters"):
        run(tmp_path / "run", models={"one": five_outputs})


def test_too_few_samples_for_the_devices(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="`samples` must be at most 90") as caught:
        run(tmp_path / "run", scenario=scenario({"one": {"samples": 91}}))
    assert_helpful(str(caught.value))
    assert not (tmp_path / "run").exists()


def test_divergence_keeps_what_was_computed(tmp_path: Path) -> None:
    small = scenario({"one": {"slots": 200, "learning_rate": 1.0, "parameters": 52}}, evaluation={"every": 1})
    with pytest.raises(BadInput, match=r"must stay finite.*Lower the learning rate") as caught:
        run(tmp_path / "run", scenario=small, models={"one": Exploding}, checkpoint_every_s=0.0)
    assert_helpful(str(caught.value))
    left = dmafl.Run(tmp_path / "run")
    scheme_run = left.manifest.scheme_runs["fedasync-s0"]
    assert left.manifest.status == "failed"
    assert str(scheme_run.status).startswith("failed: ")
    assert scheme_run.outcome is not None
    done = scheme_run.outcome.tasks["one"].aggregations
    assert left.metrics.num_rows >= 1
    assert left.metrics.num_rows <= done + 1
    assert np.isfinite(left.metrics.column("loss").to_numpy()).all()
    assert left.periods.num_rows == done


def test_other_scheme_runs_finish_when_one_diverges(tmp_path: Path) -> None:
    small = scenario({"one": {"slots": 6, "learning_rate": 1.0, "parameters": 52}})
    with pytest.raises(BadInput, match="must stay finite"):
        run(
            tmp_path / "run",
            scenario=small,
            models={"one": Exploding},
            schemes=["fedasync", "fedbuff"],
        )
    scheme_runs = dmafl.Run(tmp_path / "run").manifest.scheme_runs
    assert scheme_runs["fedasync-s0"].status.failed
    assert scheme_runs["fedbuff-s0"].status.failed or scheme_runs["fedbuff-s0"].status.finished


class _Nothing:
    """A policy that orders nothing."""

    from dmafl.learning.aggregation import Constant
    from dmafl.server.aggregators import MixAtOnce

    aggregator = MixAtOnce(0.5, Constant())

    def begin(self) -> list[Any]:
        return []

    on_idle = on_device_lost = on_job_lost = on_device_joined = lambda self, *given: []

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        pass


def test_an_own_scheme_that_orders_nothing_ends_and_says_so(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="got 0 of 8 of task one"):
        run(
            tmp_path / "run",
            schemes=["still"],
            own_schemes={"still": lambda world: [_Nothing() for _ in world.task_names]},
        )
    scheme_run = dmafl.Run(tmp_path / "run").manifest.scheme_runs["still-s0"]
    assert scheme_run.outcome is not None
    assert scheme_run.outcome.tasks["one"].plain() == {"aggregations": 0, "of": 8, "diverged": 0}
    assert str(scheme_run.status).startswith("failed: ")


# -- the disk -----------------------------------------------------------------------------------------


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: Files, command) -> None:
    """Rows are half written when the disk is full: a message, exit code 2, and what was saved before is there."""
    write, calls = Path.write_bytes, []

    def full(self: Path, content: bytes) -> int:
        if ".parquet." in self.name:
            calls.append(self)
        if len(calls) > 9:
            write(self, content[:9])
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(self, content)

    arguments = (
        *("run", files.scenario, "--data-dir", files.data, "--scheme", "fedasync", "--workers", 1),
        *("--checkpoint-s", 0, "-o", tmp_path / "run"),
    )
    monkeypatch.setattr(Path, "write_bytes", full)
    outcome = command(*arguments)
    monkeypatch.undo()
    assert outcome.code == 2
    assert "No space left on device" in outcome.err
    assert "Traceback" not in outcome.err
    assert list(tmp_path.rglob("*.part")) == []
    assert dmafl.Run(tmp_path / "run").periods.num_rows > 0
    goes_on = command(*arguments, "--resume")
    assert goes_on.code == 0
    begins = command(*arguments[:-1], tmp_path / "whole", "--resume")
    assert begins.code == 0
    told = f"There is no run in {tmp_path / 'whole'} yet: it starts from the beginning."
    assert [told in " ".join(one.out.split()) for one in (goes_on, begins)] == [False, True]
    for name in ("metrics.parquet", "periods.parquet"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert str(tmp_path / "run") in outcome.err, "which file or folder it was"


# -- resuming something else --------------------------------------------------------------------------


@pytest.fixture
def interrupted(tmp_path: Path, files: Files, command, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, ...]:
    """A run that stopped half-way, and the arguments that go on with it."""
    from dmafl.simulation.scheme_run import SchemeRun

    own = write_files(tmp_path / "files")
    arguments = (
        *("run", own.scenario, "--data-dir", own.data, "--scheme", "fedasync", "--workers", 1),
        *("--checkpoint-s", 0, "-o", tmp_path / "run", "--resume"),
    )
    run_through = SchemeRun.run

    def half_way(self: SchemeRun) -> Any:
        for number, pending in enumerate(run_through(self)):
            if number == 8:
                raise OSError(errno.EIO, "pulled the plug", "disk")
            yield pending

    monkeypatch.setattr(SchemeRun, "run", half_way)
    assert command(*arguments[:-1]).code == 2
    monkeypatch.setattr(SchemeRun, "run", run_through)
    return arguments


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_data_file_that_changed(interrupted, command, tmp_path: Path) -> None:
    before = snapshot(tmp_path / "run")
    write_files(tmp_path / "files", seed=1)
    outcome = command(*interrupted)
    assert outcome.code == 2
    assert_helpful(outcome.err.removeprefix("error: "))
    assert "data of task one` must not change between checkpoint and resume; got sha256" in outcome.err
    assert snapshot(tmp_path / "run") == before
    write_files(tmp_path / "files", seed=0)
    assert command(*interrupted).code == 0, "the old data are back"


def test_another_scenario(interrupted, command, tmp_path: Path) -> None:
    path = tmp_path / "files" / "scenario.toml"
    before, text = snapshot(tmp_path / "run"), path.read_text()
    path.write_text(text.replace("devices = 3", "devices = 4"))
    outcome = command(*interrupted)
    assert outcome.code == 2
    assert "must be a run of this scenario; got another scenario" in outcome.err
    assert snapshot(tmp_path / "run") == before


@pytest.mark.parametrize("more", [("--scheme", "fedbuff"), ("--seeds", "3")])
def test_other_schemes_or_seeds(interrupted, command, tmp_path: Path, more: tuple[str, ...]) -> None:
    before = snapshot(tmp_path / "run")
    outcome = command(*interrupted, *more)
    assert outcome.code == 2
    assert "must be those of the run" in outcome.err
    assert snapshot(tmp_path / "run") == before


def test_another_plan(tmp_path: Path) -> None:
    """Same world, other jobs."""
    world = World.resolve(scenario())
    one, other = (dmafl.Plan(world, dmafl.round_robin(world, in_flight=n)) for n in (1, 2))
    done = run(tmp_path / "run", plan=one, schemes=["scheduled"])
    manifest = json.loads((done.path / "manifest.json").read_text())
    write_manifest(done.path, manifest | {"status": "running"})
    with pytest.raises(BadInput, match="plan_sha256"):
        run(tmp_path / "run", plan=other, schemes=["scheduled"], resume=True)
    kept = dmafl.read_plan(done.path / "plans" / "scheduled.json").plan
    assert kept.schedule.version.tolist() == one.schedule.version.tolist(), (
        "the run's own plan is not overwritten"
    )


def test_a_plan_for_another_scenario(tmp_path: Path) -> None:
    """The plan's world would be simulated with the other scenario's learning."""
    world = World.resolve(scenario())
    plan = dmafl.Plan(world, dmafl.round_robin(world))
    with pytest.raises(BadInput):
        run(
            tmp_path / "run",
            scenario=scenario({"one": {"learning_rate": 0.9, "slots": 30}}),
            plan=plan,
            schemes=["scheduled"],
        )


def test_a_folder_with_other_things(files: Files, command, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    arguments = ("run", files.scenario, "--data-dir", files.data, "--workers", 1, "-o", tmp_path)
    for more in ((), ("--resume",)):
        outcome = command(*arguments, *more)
        assert outcome.code == 2
        assert_helpful(outcome.err.removeprefix("error: "))
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_a_folder_with_a_run(finished: dmafl.Run, files: Files, command) -> None:
    before = snapshot(finished.path)
    outcome = command("run", files.scenario, "--data-dir", files.data, "--workers", 1, "-o", finished.path)
    assert outcome.code == 2
    assert "must be a new or empty folder; got a run. Use --resume" in outcome.err
    assert snapshot(finished.path) == before


def test_a_file_in_place_of_the_folder(files: Files, command, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("mine")
    for more in ((), ("--resume",)):
        outcome = command(
            "run", files.scenario, "--data-dir", files.data, "--workers", 1, "-o", tmp_path / "run", *more
        )
        assert outcome.code == 2
        assert outcome.err.startswith("error: `")
    assert (tmp_path / "run").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--scheme", "fedasink"), "Did you mean 'fedasync'?"),
        (("--scheme", "scheduled"), "Use --plan plan.json."),
        (("--seeds", "4-1"), "`seeds` must go up"),
        (("--seeds", "x"), "must look like 3, 0-4 or 1,5,7"),
        (("--plan", "nowhere.json"), "nowhere.json"),
        (("--data-dir", "/nowhere/at/all"), "/nowhere/at/all"),
        (("--workers", "-3"), "workers"),
        (("--checkpoint-s", "-1"), "checkpoint-s"),
        (("--tracker", "tensorbord"), "`tracker` must be one of tensorboard, mlflow, wandb"),
    ],
)
def test_bad_arguments(
    files: Files, command, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    outcome = command("run", files.scenario, "--data-dir", files.data, "-o", tmp_path / "run", *arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert "Traceback" not in outcome.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("workers", [0, -1])
def test_a_number_of_workers_that_makes_no_sense(tmp_path: Path, workers: int) -> None:
    with pytest.raises(BadInput, match="workers"):
        run(tmp_path / "run", workers=workers)


# -- damaged files of a run ---------------------------------------------------------------------------

MANIFESTS = {
    "half": lambda text: text[: len(text) // 2],
    "no JSON": lambda text: "hello",
    "a list": lambda text: "[]",
    "another schema": lambda text: text.replace('"schema": 1', '"schema": 99'),
    "nothing but a schema": lambda text: '{"schema": 1}',
    "no worlds": lambda text: json.dumps({k: v for k, v in json.loads(text).items() if k != "worlds"}),
    "no such seed": lambda text: json.dumps(json.loads(text) | {"seeds": [5]}),
    "worlds of nothing": lambda text: json.dumps(json.loads(text) | {"worlds": {"0": {}, "7": {}}}),
    "seeds as text": lambda text: json.dumps(json.loads(text) | {"seeds": "no"}),
}


def copied(run: dmafl.Run, to: Path) -> Path:
    import shutil

    return Path(shutil.copytree(run.path, to))


@pytest.mark.parametrize("case", MANIFESTS)
def test_verify_refuses_a_damaged_manifest(finished: dmafl.Run, command, tmp_path: Path, case: str) -> None:
    path = copied(finished, tmp_path / "run")
    text = (path / "manifest.json").read_text()
    (path / "manifest.json").write_text(MANIFESTS[case](text))
    outcome = command("verify", path)
    assert outcome.code == 2, outcome
    assert outcome.err.startswith("error: `")
    assert "Traceback" not in outcome.err


TABLES = {
    "half": lambda content: content[: len(content) // 2],
    "empty": lambda content: b"",
    "text": lambda content: b"no,parquet\n1,2\n",
    "one bit in the footer": lambda content: content[:-20] + bytes([content[-20] ^ 0xFF]) + content[-19:],
}


@pytest.mark.parametrize("table", ["metrics", "periods"])
@pytest.mark.parametrize("case", TABLES)
def test_verify_refuses_a_damaged_table(
    finished: dmafl.Run, command, tmp_path: Path, table: str, case: str
) -> None:
    path = copied(finished, tmp_path / "run")
    file = path / f"{table}.parquet"
    file.write_bytes(TABLES[case](file.read_bytes()))
    outcome = command("verify", path)
    assert outcome.code == 1, outcome
    for rule in ("files", "tables"):
        assert f"{rule}: " in outcome.out
    assert f"{table}.parquet" in outcome.out


def test_verify_refuses_a_table_of_something_else(finished: dmafl.Run, command, tmp_path: Path) -> None:
    import pyarrow as pa

    for number, table in enumerate(
        [pa.table({"x": [1, 2]}), finished.periods.drop_columns(["uplink_J"]), finished.metrics]
    ):
        path = copied(finished, tmp_path / str(number))
        pq.write_table(table, path / "periods.parquet")
        outcome = command("verify", path)
        assert outcome.code == 1, (number, outcome)
        assert "tables: " in outcome.out
        assert "periods.parquet" in outcome.out


def test_verify_refuses_a_folder_without_a_run(command, tmp_path: Path) -> None:
    outcome = command("verify", tmp_path)
    assert outcome.code == 2
    assert "manifest" in outcome.err
    assert command("verify", tmp_path / "nowhere").code == 2
