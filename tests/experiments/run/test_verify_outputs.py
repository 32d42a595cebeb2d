"""`verify` reads every output of a run: what is damaged, foreign, missing or of another run is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmafl
from dmafl.experiments.run.manifest_rules import check_manifest
from dmafl.learning import saving
from dmafl.schedule.plan_files import plan_bytes, read_plan
from dmafl.training.trainer import Trainer
from support.brought import run_with
from support.small_runs import dataset, scenario, softmax
from support.stopped_runs import stop_early
from support.tampering import changed_manifest, copied, failed, seal
from support.tiny_measurements import TWO_TASKS as SMALL
from support.tiny_measurements import measured

SCHEMES = ("fedasync", "scheduled", "dma-fl")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dmafl.Run:
    """A run with every kind of output: tables, models, running estimates, measured constants, plans."""
    world = dmafl.World.resolve(SMALL)
    return run_with(
        SMALL,
        dmafl.Plan(world, dmafl.round_robin(world, in_flight=2)),
        schemes=SCHEMES,
        output=tmp_path_factory.mktemp("whole") / "run",
        measured=measured(SMALL, None),
        effort=1.0,
        models=dict.fromkeys(SMALL.tasks, softmax),
        datasets={name: dataset() for name in SMALL.tasks},
    )


def broken(path: Path) -> dict[str, str]:
    """Name of a check that does not hold -> what it says."""
    return {check.name: str(check) for check in dmafl.verify_run(path) if not check.ok}


def test_a_whole_run_holds_and_has_the_checksum_of_every_output(whole: dmafl.Run) -> None:
    assert failed(whole.path) == set()
    there = {one.relative_to(whole.path).as_posix() for one in whole.path.rglob("*") if one.is_file()}
    assert set(whole.manifest.files) == there - {"manifest.json"}
    assert {name.partition("/")[0] for name in there} >= {"models", "plans", "measured", "running.json"}


def test_damage_of_any_output_is_found(whole: dmafl.Run, tmp_path: Path) -> None:
    for number, name in enumerate(whole.manifest.files):
        path = copied(whole, tmp_path / str(number))
        content = bytearray((path / name).read_bytes())
        content[len(content) // 2] ^= 0x10
        (path / name).write_bytes(bytes(content))
        assert name in broken(path)["files"]


def test_all_that_is_damaged_is_named(whole: dmafl.Run, command: Any, tmp_path: Path) -> None:
    path = copied(whole, tmp_path / "run")
    for name in ("metrics.parquet", "models/fedasync-s0-a.safetensors", "plans/scheduled.json"):
        (path / name).write_bytes(b"\x00" * 40)
    (path / "running.json").unlink()
    outcome = command("verify", path)
    assert outcome.code == 1
    for told in ("metrics.parquet", "fedasync-s0-a.safetensors", "scheduled.json", "running.json: missing"):
        assert told in outcome.out
    for rule in ("files", "tables", "models", "plans", "tests"):
        assert f"\n{rule}: " in outcome.out


def _model(change: Callable[[np.ndarray, dict[str, str]], Any]) -> Callable[[Path], None]:
    def spoil(path: Path) -> None:
        file = path / "models" / "fedasync-s0-a.safetensors"
        found = saving.load(file)
        parameters, metadata = found.parameters.copy(), dict(found.metadata)
        layout = change(parameters, metadata) or found.layout
        saving.save(file, parameters, layout, metadata)

    return spoil


def _json(name: str, change: Callable[[Any], Any]) -> Callable[[Path], None]:
    def spoil(path: Path) -> None:
        content = json.loads((path / name).read_text())
        change(content)
        (path / name).write_text(json.dumps(content))

    return spoil


def _estimates(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    return _json("running.json", lambda content: change(content["units"]["fedasync-s0"]["a"]))


def _swap_models(path: Path) -> None:
    one, other = (path / "models" / f"{scheme_run}-s0-a.safetensors" for scheme_run in ("fedasync", "dma-fl"))
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)


def _plan(change: Callable[[Any], dmafl.Plan]) -> Callable[[Path], None]:
    """Write another plan, with a checksum of its own that fits."""

    def spoil(path: Path) -> None:
        file = path / "plans" / "dma-fl-s0.json"
        file.write_bytes(plan_bytes(change(read_plan(file).plan)))

    return spoil


def _other_terms(plan: dmafl.Plan) -> dmafl.Plan:
    """One term larger and another smaller, so that all sums stay."""
    terms = {task: dict(own) for task, own in plan.terms.items()}
    first, second = [name for name in terms["a"] if name != "quality" and not name.endswith("_J")][:2]
    terms["a"][first] += 0.01
    terms["a"][second] -= 0.01
    return replace(plan, terms=terms)


def _of_seed(plan: dmafl.Plan) -> dmafl.Plan:
    world = dmafl.World.resolve(plan.world.scenario.model_copy(update={"seed": 9}))
    return replace(plan, world=world)


RESEALED: dict[str, tuple[str, Callable[[Path], None]]] = {
    "a model that is not finite": ("models", _model(lambda w, told: w.__setitem__(3, np.nan))),
    "a model of infinite weights": ("models", _model(lambda w, told: w.__setitem__(0, np.inf))),
    "a model of another task": ("models", _model(lambda w, told: told.update(task="b"))),
    "a model of another seed": ("models", _model(lambda w, told: told.update(seed="7"))),
    "a model of another scheme": ("models", _model(lambda w, told: told.update(scheme="fedbuff"))),
    "a model of another slot": ("models", _model(lambda w, told: told.update(aggregation="3"))),
    "a model of other arrays": ("models", _model(lambda w, told: (("w", (len(w),)),))),
    "two models swapped": ("models", _swap_models),
    "an estimate that is not there": ("running", _estimates(lambda one: one.pop("gram"))),
    "another count of jobs": ("running", _estimates(lambda one: one["jobs"].__setitem__(0, 99))),
    "another loss": ("running", _estimates(lambda one: one.update(loss=one["loss"] * 1.001))),
    "another trend": ("running", _estimates(lambda one: one.update(loss_per_aggregation=0.5))),
    "an entry of the Gram matrix": ("running", _estimates(lambda one: one["gram"][0].__setitem__(1, 3.0))),
    "a negative bound": ("running", _estimates(lambda one: one.update(regularised_gradient_bound=-1.0))),
    "a scheme run that is gone": (
        "running",
        _json("running.json", lambda one: one["units"].pop("fedasync-s0")),
    ),
    "a scheme run too many": (
        "running",
        _json("running.json", lambda one: one["units"].update({"x-s0": {}})),
    ),
    "another measured constant": (
        "measured",
        _json("measured/s0.json", lambda one: one["tasks"].update(a=one["tasks"]["b"])),
    ),
    "terms that add up": ("plans", _plan(_other_terms)),
    "a plan of another seed": ("plans", _plan(_of_seed)),
}


@pytest.mark.parametrize("case", RESEALED)
def test_what_fits_its_checksum_must_fit_the_run_too(whole: dmafl.Run, tmp_path: Path, case: str) -> None:
    rule, spoil = RESEALED[case]
    path = copied(whole, tmp_path / "run")
    spoil(path)
    assert rule in broken(seal(path))


def test_foreign_files_among_the_outputs_are_found_and_others_mentioned(
    whole: dmafl.Run, command: Any, tmp_path: Path
) -> None:
    path = copied(whole, tmp_path / "run")
    (path / "notes [red]of mine.txt").write_text("mine")
    (path / "accuracy.png").write_bytes(b"")
    outcome = command("verify", path)
    assert outcome.code == 0
    assert "notes [red]of mine.txt" in outcome.out  # as it is, no markup
    assert "accuracy.png" not in outcome.out
    for number, name in enumerate(("models/mine.safetensors", "plans/x.json", "measured/s5.json")):
        other = copied(whole, tmp_path / str(number))
        (other / name).write_bytes(b"{}")
        assert name in broken(other)["files"]


MANIFESTS: dict[str, tuple[str, Callable[[dict[str, Any]], Any]]] = {
    "no checksum of an output": ("files", lambda m: m["files"].pop("periods.parquet")),
    "a finished run whose scheme run waits": (
        "manifest",
        lambda m: m["units"]["fedasync-s0"].update(status="waiting"),
    ),
    "fewer slots": ("complete", lambda m: m["units"]["fedasync-s0"]["tasks"]["a"].update(aggregations=3)),
    "a finished run that goes": ("quality", lambda m: m.update(status="running")),
    "rounds": ("complete", lambda m: m["units"]["fedasync-s0"].update(rounds=True)),
    "another world": (
        "durations",
        lambda m: m["worlds"]["0"]["devices"]["uplink_power_W"].__setitem__(0, 0.5),
    ),
    "another scenario": ("manifest", lambda m: m["scenario"]["tasks"]["a"].update(mixing=0.3)),
    "a plan of another checksum": ("plans", lambda m: m.update(plan_sha256="0" * 64)),
    "more data": ("tests", lambda m: m["data"]["a"].update(test_samples=31)),
    "another order of schemes": ("tables", lambda m: m["schemes"].reverse()),
    "a loss that nobody had": (
        "losses",
        lambda m: m["units"]["fedasync-s0"]["lost"].append(
            {"task": "a", "device": 0, "reason": "boredom", "time_s": 0.0}
        ),
    ),
}


@pytest.mark.parametrize("case", MANIFESTS)
def test_a_manifest_that_says_something_else_is_found(whole: dmafl.Run, tmp_path: Path, case: str) -> None:
    rule, change = MANIFESTS[case]
    assert rule in broken(changed_manifest(whole, tmp_path / "run", change))


def test_a_manifest_that_was_damaged_is_found_and_not_resumed(whole: dmafl.Run, tmp_path: Path) -> None:
    path = copied(whole, tmp_path / "run")
    text = (path / "manifest.json").read_text()
    (path / "manifest.json").write_text(text.replace('"torch": "', '"torch": "9'))
    assert set(broken(path)) == {"manifest"}
    with pytest.raises(dmafl.base.errors.BadInput, match="checksum of the rest"):
        run_with(
            SMALL,
            dmafl.Plan(whole.world(0), read_plan(path / "plans" / "scheduled.json").plan.schedule),
            schemes=SCHEMES,
            output=path,
            resume=True,
            models=dict.fromkeys(SMALL.tasks, softmax),
            datasets={name: dataset() for name in SMALL.tasks},
        )


NONSENSE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "of an earlier version": lambda m: m.update(schema=1),
    "a field too many": lambda m: m.update(extra=1),
    "a field missing": lambda m: m.pop("files"),
    "a path out of the folder": lambda m: m["files"].update({"../secret": "0" * 64}),
    "an absolute path": lambda m: m["files"].update({"/etc/passwd": "0" * 64}),
    "a checksum that is none": lambda m: m["files"].update({"metrics.parquet": "f"}),
    "a scheme run of nobody": lambda m: m["units"].update({"x-s0": {"status": "waiting"}}),
    "no tasks": lambda m: m["units"]["fedasync-s0"].update(tasks={}),
    "half an aggregation": lambda m: m["units"]["fedasync-s0"]["tasks"]["a"].update(aggregations=0.5),
    "a loss at no time": lambda m: m["units"]["fedasync-s0"].update(
        lost=[{"task": "a", "device": 0, "reason": "battery", "time_s": None}]
    ),
    "a seed twice": lambda m: m["seeds"].append(0),
    "no test samples": lambda m: m["data"]["a"].update(test_samples=0),
}


@pytest.mark.parametrize("case", NONSENSE)
def test_a_manifest_that_is_none_is_refused(
    whole: dmafl.Run, command: Any, tmp_path: Path, case: str
) -> None:
    path = changed_manifest(whole, tmp_path / "run", NONSENSE[case])
    outcome = command("verify", path)
    assert outcome.code == 2
    assert outcome.err.startswith("error: `")
    if case == "of an earlier version":
        assert "made by another version" in outcome.err


def test_every_field_of_the_manifest_is_checked_for_its_kind(whole: dmafl.Run) -> None:
    content = whole.manifest.plain()
    for name in content:
        for value in (None, 1.5, True, [], "x", [None], {"x": None}):
            if name == "plan_sha256" and value is None:
                continue
            if (name, value) in (("sha256", "x"), ("scenario", {"x": None})):
                continue  # any text, any table: what is in it is looked at elsewhere
            with pytest.raises(dmafl.base.errors.BadInput):
                check_manifest(content | {name: value}, Path("manifest.json"))


def test_a_stopped_run_with_a_foreign_model_is_found(tmp_path: Path) -> None:
    stop_early(tmp_path / "run")
    assert failed(tmp_path / "run") == set()
    (tmp_path / "run" / "models").mkdir(exist_ok=True)
    (tmp_path / "run" / "models" / "fedasync-s0-other.safetensors").write_bytes(b"")
    assert failed(tmp_path / "run") == {"files"}


def test_a_failed_run_that_goes_on_has_no_old_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of the end before would contradict what the manifest says of scheme runs that have ended since."""
    small = scenario({"one": {"slots": 30, "learning_rate": 100.0}})
    stuff = {"models": {"one": softmax}, "datasets": {"one": dataset()}, "measured": {}}
    test = Trainer.test

    def breaks(self: Trainer, task: int, *more: Any) -> Any:
        calls.append(task)
        if len(calls) == 4:
            raise dmafl.base.errors.bad_input("loss", "must stay finite", "nan", "Lower it.")
        return test(self, task, *more)

    calls: list[int] = []
    monkeypatch.setattr(Trainer, "test", breaks)
    with pytest.raises(dmafl.base.errors.BadInput):
        run_with(small, schemes=["fedasync", "fedbuff"], output=tmp_path / "run", **stuff)
    assert dmafl.Run(tmp_path / "run").manifest.status == "failed"
    assert failed(tmp_path / "run") == set()
    done = run_with(small, schemes=["fedasync", "fedbuff"], output=tmp_path / "run", resume=True, **stuff)
    assert done.manifest.status == "finished"
    assert failed(done.path) == set()
