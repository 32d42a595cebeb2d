"""The folder of a run: what is written is read back, whenever and however often it was saved."""

from __future__ import annotations

import json
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dmafl
from dmafl.base.errors import BadInput
from dmafl.base.files import read_checked, write_checked
from dmafl.experiments.run.folder import RunFolder
from dmafl.learning import saving
from dmafl.scenario.model import constant
from dmafl.simulation.records import METRICS, PERIODS
from dmafl.world.world import World
from support.small_runs import dataset, network, scenario, softmax
from support.stopped_runs import run, stop_early


def test_a_finished_run(finished: dmafl.Run) -> None:
    manifest = finished.manifest
    assert manifest.status == "finished"
    assert set(manifest.scheme_runs) == {
        f"{scheme}-s{seed}" for scheme in manifest.schemes for seed in manifest.seeds
    }
    for scheme_run in manifest.scheme_runs.values():
        assert str(scheme_run.status) == "finished"
        assert scheme_run.outcome is not None
        assert {name: task.aggregations for name, task in scheme_run.outcome.tasks.items()} == {
            "a": 8,
            "b": 5,
        }
        assert scheme_run.outcome.lost == ()
    assert finished.metrics.schema == METRICS
    assert finished.periods.schema == PERIODS
    assert manifest.data["a"].sha256 == dataset().sha256
    assert not (finished.path / "parts").exists()
    assert not (finished.path / "checkpoint").exists()


def test_scenario_and_worlds_come_back(finished: dmafl.Run) -> None:
    again = dmafl.Run(finished.path)
    assert again.scenario == scenario({"a": {}, "b": {"slots": 5, "cycles_per_sample": 3e6}}, devices=3)
    for seed in (0, 7):
        world = World.resolve(again.scenario.model_copy(update={"seed": seed}))
        assert again.world(seed).sha256 == world.sha256


def test_the_models_are_those_of_the_last_aggregation(finished: dmafl.Run) -> None:
    model = saving.load(finished.path / "models" / "fedasync-s7-b.safetensors")
    assert model.metadata["aggregation"] == "5"
    assert model.metadata["scheme"] == "fedasync"
    assert model.parameters.shape == (51,)
    assert np.isfinite(model.parameters).all()
    assert len(list((finished.path / "models").iterdir())) == 4 * 2 * 2


def test_scheme_runs_are_in_the_order_of_the_manifest(finished: dmafl.Run) -> None:
    rows = zip(
        finished.metrics.column("scheme").to_pylist(),
        finished.metrics.column("seed").to_pylist(),
        strict=True,
    )
    wanted = [(scheme, seed) for scheme in finished.manifest.schemes for seed in finished.manifest.seeds]
    assert list(dict.fromkeys(rows)) == wanted


def test_how_often_a_run_is_saved_does_not_change_its_files(tmp_path: Path) -> None:
    seldom = run(tmp_path / "seldom", checkpoint_every_s=1e9)
    often = run(tmp_path / "often", checkpoint_every_s=0.0)
    for name in ("metrics.parquet", "periods.parquet", "running.json"):
        assert (seldom.path / name).read_bytes() == (often.path / name).read_bytes()


def test_long_tables_do_not_depend_on_their_parts(tmp_path: Path) -> None:
    """Beyond one page and one row group of Parquet."""
    rng = np.random.default_rng(0)
    n = 150_000
    columns = {
        field.name: pa.array(
            ["fedasync"] * n
            if field.type == pa.string()
            else rng.random(n).astype(field.type.to_pandas_dtype())
        )
        for field in METRICS
    }
    rows = pa.table(columns, schema=METRICS)
    contents = []
    for number, cuts in enumerate([(0, n), (0, 17, 1000, 100_001, n), tuple(range(0, n + 1, 30_000))]):
        folder = RunFolder(tmp_path / str(number))
        for part, (begin, end) in enumerate(pairwise(cuts)):
            folder.write_parts("u", part, (rows.slice(begin, end - begin), PERIODS.empty_table()))
        folder.compact(["u"])
        contents.append((folder.path / "metrics.parquet").read_bytes())
    assert contents[0] == contents[1] == contents[2]


def test_resume_of_a_finished_run_changes_nothing(tmp_path: Path) -> None:
    done = run(tmp_path / "run")
    before = {path: path.read_bytes() for path in done.path.rglob("*") if path.is_file()}
    again = run(tmp_path / "run", resume=True)
    assert {path: path.read_bytes() for path in again.path.rglob("*") if path.is_file()} == before


def test_resume_of_nothing_begins(tmp_path: Path) -> None:
    assert run(tmp_path / "new", resume=True).manifest.status == "finished"
    (tmp_path / "empty").mkdir()
    assert run(tmp_path / "empty", resume=True).manifest.status == "finished"


def test_resume_after_a_kill_before_the_first_manifest(tmp_path: Path) -> None:
    """What a killed process leaves then is its own unfinished file."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / ".manifest.json.abcd1234.part").write_text("{")
    assert run(folder, resume=True).manifest.status == "finished"


def test_resume_after_a_kill_between_plan_and_manifest(tmp_path: Path) -> None:
    small = scenario()
    world = World.resolve(small)
    plan = dmafl.Plan(world, dmafl.round_robin(world))
    folder = tmp_path / "run"
    dmafl.write_plan(plan, folder / "plans" / "scheduled.json")
    assert run(folder, plan=plan, schemes=["scheduled"], resume=True).manifest.status == "finished"


def test_nothing_half_written_stays_after_resume(tmp_path: Path) -> None:
    """kill -9 leaves temporary files; a run that has finished cleans up after its former selves."""
    folder = tmp_path / "run"
    stop_early(folder)
    (folder / "models").mkdir(exist_ok=True)
    for name in (
        ".manifest.json.abcd1234.part",
        ".metrics.parquet.abcd1234.part",
        "models/.x.safetensors.abcd.part",
    ):
        (folder / name).write_bytes(b"half")
    run(folder, resume=True)
    assert list(folder.rglob("*.part")) == []


@pytest.mark.parametrize("model", [softmax, network])
def test_a_crash_and_resume_end_in_the_same_bytes(tmp_path: Path, model) -> None:
    small = scenario({"a": {"parameters": 51 if model is softmax else 103}, "b": {"parameters": 51}})
    more = {"scenario": small, "models": {"a": model, "b": softmax}}
    whole = run(tmp_path / "whole", **more)
    stop_early(tmp_path / "run", 70, **more)
    again = run(tmp_path / "run", resume=True, **more)
    for name in ("metrics.parquet", "periods.parquet", "running.json"):
        assert (again.path / name).read_bytes() == (whole.path / name).read_bytes()
    models = sorted(path.name for path in (whole.path / "models").iterdir())
    assert len(models) == 4
    assert models == sorted(path.name for path in (again.path / "models").iterdir())
    for path in (whole.path / "models").iterdir():
        one, two = saving.load(path), saving.load(again.path / "models" / path.name)
        assert one.parameters.tobytes() == two.parameters.tobytes()
        assert one.metadata == two.metadata


def test_the_same_model_is_saved_as_the_same_bytes(tmp_path: Path) -> None:
    metadata = {"task": "a", "scheme": "fedasync", "seed": 0, "aggregation": 8, "architecture": "softmax"}
    for number in range(10):
        path = tmp_path / f"{number}.safetensors"
        saving.save(path, np.arange(3, dtype=np.float32), (("w", (3,)),), metadata)
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1


def test_what_was_computed_is_readable_while_it_goes(tmp_path: Path) -> None:
    stop_early(tmp_path / "run")
    so_far = dmafl.Run(tmp_path / "run")
    assert so_far.manifest.status == "running"
    assert so_far.metrics.num_rows > 0
    assert so_far.periods.num_rows > 0
    whole = run(tmp_path / "whole")
    rows = so_far.periods.to_pylist()
    assert rows == whole.periods.to_pylist()[: len(rows)]
    assert sum(so_far.running["fedasync-s0"]["one"]["jobs"]) == sum(
        row["outcome"] == "aggregated" and row["scheme"] == "fedasync" for row in rows
    )


def test_running_estimates_are_kept(finished: dmafl.Run, tmp_path: Path) -> None:
    assert list(finished.running) == list(finished.manifest.scheme_runs)
    for row in finished.metrics.to_pylist():
        if row["aggregation"] == {"a": 8, "b": 5}[row["task"]]:
            last = finished.running[f"{row['scheme']}-s{row['seed']}"][row["task"]]
            assert (last["aggregation"], last["loss"]) == (row["aggregation"], row["loss"])
    shutil.copytree(finished.path, tmp_path / "run")
    (tmp_path / "run" / "running.json").write_text('{"schema": 99}')
    with pytest.raises(BadInput, match="schema"):
        _ = dmafl.Run(tmp_path / "run").running


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "state.json").write_text("{"),
        lambda folder: (folder / "state.json").write_text("{}"),
        lambda folder: write_checked(
            folder / "state.json", read_checked(folder / "state.json", "checkpoint") | {"schema": 2}
        ),
        lambda folder: (folder / "state.json").write_text(
            (folder / "state.json").read_text().replace('"now":', '"now":9', 1)
        ),
        lambda folder: next(folder.glob("arrays-*.npz")).write_bytes(b"PK no"),
        lambda folder: next(folder.glob("arrays-*.npz")).unlink(),
    ],
    ids=["half a state", "no state", "of another version", "another time", "no arrays", "arrays gone"],
)
def test_a_damaged_checkpoint_is_refused_with_a_remedy(tmp_path: Path, damage) -> None:
    stop_early(tmp_path / "run", 6)
    damage(tmp_path / "run" / "checkpoint" / "fedasync-s0")
    with pytest.raises(BadInput, match="checkpoint"):
        run(tmp_path / "run", resume=True)


@pytest.mark.parametrize("name", ["metrics", "periods"])
def test_a_part_that_changed_is_refused_and_other_scheme_runs_go_on(tmp_path: Path, name: str) -> None:
    """A number in it was changed, so that it is still a whole table."""
    stop_early(tmp_path / "run", 8)
    part = sorted((tmp_path / "run" / "parts" / "fedasync-s0").glob(f"{name}-*.parquet"))[0]
    table = pq.read_table(part)
    place = table.column_names.index("uplink_J")
    pq.write_table(table.set_column(place, "uplink_J", pa.array([7.0] * table.num_rows)), part)
    with pytest.raises(BadInput, match=f"{part.name}.*SHA-256.*Remove the folder"):
        run(tmp_path / "run", resume=True)
    scheme_runs = dmafl.Run(tmp_path / "run").manifest.scheme_runs
    assert scheme_runs["fedasync-s0"].status.failed
    assert scheme_runs["fedbuff-s0"].status.finished


def test_a_changed_part_of_a_finished_scheme_run_and_its_remedy(tmp_path: Path) -> None:
    whole = run(tmp_path / "whole")
    stop_early(tmp_path / "run", 40)
    assert dmafl.Run(tmp_path / "run").manifest.scheme_runs["fedasync-s0"].status.finished
    part = sorted((tmp_path / "run" / "parts" / "fedasync-s0").glob("periods-*.parquet"))[0]
    part.write_bytes(part.read_bytes()[:-1])
    for _ in range(2):
        with pytest.raises(BadInput, match=f"{part.name}.*Remove the folder .*checkpoint/fedasync-s0"):
            run(tmp_path / "run", resume=True)
    shutil.rmtree(tmp_path / "run" / "checkpoint" / "fedasync-s0")
    again = run(tmp_path / "run", resume=True)
    for name in ("metrics.parquet", "periods.parquet", "running.json"):
        assert (again.path / name).read_bytes() == (whole.path / name).read_bytes()


def test_arrays_that_changed_are_refused(tmp_path: Path) -> None:
    stop_early(tmp_path / "run", 6)
    path = next((tmp_path / "run" / "checkpoint" / "fedasync-s0").glob("arrays-*.npz"))
    with np.load(path) as found:
        arrays = {entry: found[entry] for entry in found.files}
    np.savez(path, **{entry: array + 1 for entry, array in arrays.items()})
    with pytest.raises(BadInput, match=f"{path.name}.*SHA-256"):
        run(tmp_path / "run", resume=True)


def test_a_forged_state_is_refused_without_a_traceback(tmp_path: Path) -> None:
    stop_early(tmp_path / "run", 6)
    path = tmp_path / "run" / "checkpoint" / "fedasync-s0" / "state.json"
    state = read_checked(path, "checkpoint")
    state["unit"]["transport"] = {"now": "soon"}
    write_checked(path, state)
    with pytest.raises(BadInput, match="must be a whole checkpoint"):
        run(tmp_path / "run", resume=True)


def test_the_manifest_is_json_that_others_can_read(finished: dmafl.Run) -> None:
    assert json.loads((finished.path / "manifest.json").read_text())["schema"] == 2


def test_the_plan_is_kept_with_the_run(tmp_path: Path) -> None:
    world = World.resolve(scenario())
    plan = dmafl.Plan(world, dmafl.round_robin(world, in_flight=2))
    done = run(tmp_path / "run", plan=plan, schemes=["scheduled", "fedasync"])
    kept = dmafl.read_plan(done.path / "plans" / "scheduled.json").plan
    assert kept.schedule.start_s.tolist() == plan.schedule.start_s.tolist()
    assert all(check.ok for check in dmafl.verify_run(done.path))
    rows = [row for row in done.periods.to_pylist() if row["scheme"] == "scheduled"]
    assert [row["device"] for row in rows] == plan.schedule.device.tolist()


def test_a_task_that_its_window_stops_is_tested_where_it_stands(tmp_path, monkeypatch):
    monkeypatch.delenv("DMAFL_DATA_DIR", raising=False)  # the embedded sample has 1,500 test images
    monkeypatch.setenv("DMAFL_CACHE_DIR", str(tmp_path / "no-cache"))
    scenario = dmafl.preset("demo")
    mnist = scenario.tasks["mnist"].model_copy(update={"slots": 40, "samples": 60, "window_s": constant(1.0)})
    scenario = scenario.model_copy(update={"tasks": {"mnist": mnist}})
    done = dmafl.run(scenario, schemes=["fedasync"], output=tmp_path / "run")
    outcome = done.manifest.scheme_runs["fedasync-s0"].outcome
    assert outcome is not None
    made = outcome.tasks["mnist"].aggregations
    assert 0 < made < 40
    last = done.metrics.to_pylist()[-1]
    assert (last["aggregation"], last["test_samples"]) == (made, 1500)
    assert all(check.ok for check in dmafl.verify_run(tmp_path / "run"))
