import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmafl
from dmafl.base.watching import Watcher
from dmafl.learning.saving import load
from dmafl.scenario.toml import from_plain
from dmafl.schedule.plan_files import DECISIONS, DERIVED, HEADER, OPTIONAL
from dmafl.simulation.records import METRICS, PERIODS
from dmafl.world.devices import GAINS, PER_DEVICE, PER_TASK
from support.doc_pages import DOCS, codes, table_rows
from support.tiny_measurements import measured, tiny

TEXT = (DOCS / "files.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """The text below a heading, up to the next one."""
    return re.split(r"^#+ ", TEXT.partition(f"# {title}")[2], maxsplit=1, flags=re.MULTILINE)[0]


def columns(title: str) -> list[str]:
    return [code for row in table_rows(section(title), "| Column") for code in codes(row[0])]


def test_plan_fields_are_those_of_the_file():
    fields = [codes(row[0])[0] for row in table_rows(section("plan.json"), "| Field")]
    assert fields == [*HEADER, *OPTIONAL, "jobs", *DECISIONS, *DERIVED]


def test_measured_fields_are_those_of_the_file(tmp_path):
    text = section("measured.json")
    listed = {
        kind: [code for row in table_rows(text, f"| {kind} |") for code in codes(row[0])]
        for kind in ("Field", "Task field", "Calibration field")
    }
    plain = measured(tiny(), tmp_path).plain()
    task = plain["tasks"]["one"]
    assert listed["Field"] == list(plain)
    assert listed["Task field"] == list(task)
    written = list(task["calibration"])
    assert [name for name in listed["Calibration field"] if name in written] == written
    assert set(listed["Calibration field"]) - set(written) == {"proxy_model"}, (
        "its model is of the test itself"
    )
    cost = next(row for row in table_rows(text, "| Task field") if row[0] == "`cost`")
    assert set(codes(cost[2])) == set(task["cost"])
    entries = next(row for row in table_rows(text, "| Task field") if row[0] == "`estimates`")
    assert set(codes(entries[2])) == set(task["estimates"]["gram"])


def test_the_embedded_scenario_is_as_described(tmp_path):
    fields = [codes(row[0])[0] for row in table_rows(section("The embedded"), "| Field")]
    world = dmafl.World.resolve(dmafl.preset("demo"))
    dmafl.write_plan(dmafl.Plan(world, dmafl.round_robin(world)), tmp_path / "plan.json")
    written = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert fields == list(written["scenario"])
    own = {name.removesuffix(".TASK") for name in columns("Device table")}
    assert own == set(written["scenario"]["devices"])


def test_device_columns_are_those_of_the_code():
    known = ["id", "distance_m", "bearing_rad", *PER_DEVICE, *GAINS, *(f"{name}.TASK" for name in PER_TASK)]
    assert sorted(columns("Device table")) == sorted(known)


def test_tables_with_the_columns_of_the_page_are_read(tmp_path):
    tasks = list(dmafl.preset("demo").tasks)
    device = [name for name in columns("Device table") if not name.endswith(".TASK")]
    values = {"id": "a", "uplink_gain": "1e-7", "downlink_gain": "1e-7", "capacitance_Js2": "1e-28"}
    row = [values.get(name, "10") for name in device]
    (tmp_path / "devices.csv").write_text(",".join(device) + "\n" + ",".join(row) + "\n")
    trace = columns("Channel trace")
    rows = [
        ",".join(
            {"direction": way, "device": "a", "task": task, "index": "0", "gain": "1e-7"}[c] for c in trace
        )
        for way in ("uplink", "downlink")
        for task in tasks
    ]
    (tmp_path / "gains.csv").write_text(",".join(trace) + "\n" + "\n".join(rows) + "\n")
    moves = columns("Mobility trace")
    (tmp_path / "moves.csv").write_text(",".join(moves) + "\na,0,5\n")
    (tmp_path / "scenario.toml").write_text(
        'preset = "demo"\n[fleet]\ndevices = 1\ntable = "devices.csv"\n'
        '[channel]\nkind = "trace"\nfile = "gains.csv"\n[mobility]\nkind = "trace"\nfile = "moves.csv"\n'
    )
    world = dmafl.World.resolve(dmafl.load(tmp_path / "scenario.toml"))
    assert world.devices.id == ("a",)
    assert world.plain()["gains"] is not None
    assert world.plain()["paths"] is not None


UNITS = {"_s": "s", "_J": "J", "_Hz": "Hz"}
"""What the ending of a column's name says of its unit."""


class Looking(Watcher):
    """Looks at the files of a run while it goes."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.seen = folder, set()

    def total(self, name: str, pieces: int, done: int) -> None:
        self.look()

    def advanced(self, name: str, piece: str, progress: Any) -> None:
        self.look()

    def ended(self, name: str, piece: str, problem: str = "") -> None:
        self.look()

    def look(self) -> None:
        files = (path for path in self.folder.rglob("*") if path.is_file() and ".part" not in path.name)
        self.seen |= {str(path.relative_to(self.folder)) for path in files}


@pytest.fixture(scope="module")
def looked(tmp_path_factory: pytest.TempPathFactory) -> tuple[dmafl.Run, set[str]]:
    """A small run that is saved after every event, and every file that was ever in its folder."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    task = {"dataset": "mnist", "slots": 3, "samples": 60}
    scenario = from_plain({"preset": "demo", "fleet": {"devices": 3}, "tasks": {"digits": task}})
    world = dmafl.World.resolve(scenario)
    plan = dmafl.Plan(world, dmafl.round_robin(world))
    looking = Looking(folder)
    run = dmafl.run(
        scenario,
        plan,
        schemes=["scheduled", "fedasync"],
        output=folder,
        watcher=looking,
        checkpoint_every_s=0.0,
        measured=dmafl.measure(scenario, probes=0, use_cache=False),
    )
    run.plot(run.path / "accuracy.png")
    run.plot_quality(run.path / "quality.png")
    looking.look()
    return run, looking.seen


OF_OTHER_RUNS = ("tensorboard", "plans/SCHEME", "report.html")
"""Files of runs with a tracker, with a scheme that plans, and with a page."""


@pytest.mark.parametrize(("title", "schema"), [("metrics.parquet", METRICS), ("periods.parquet", PERIODS)])
def test_columns_of_a_run_are_those_of_the_schemas(title, schema):
    assert columns(title) == schema.names
    for name, unit, _ in table_rows(section(title), "| Column"):
        ending = "_" + codes(name)[0].rpartition("_")[2]
        assert unit in ({UNITS[ending]} if ending in UNITS else {"", "ratio", "nat"}), name


def test_manifest_fields_are_those_of_a_run(looked):
    manifest = looked[0].manifest.plain()
    text = section("manifest.json")
    listed = {
        kind: [codes(row[0])[0] for row in table_rows(text, f"| {kind} |")]
        for kind in ("Field", "Data field", "Unit field")
    }
    assert listed["Field"] == list(manifest)
    assert listed["Data field"] == list(manifest["data"]["digits"])
    assert listed["Unit field"] == list(manifest["units"]["fedasync-s0"])
    assert set(manifest["units"]["fedasync-s0"]["tasks"]["digits"]) == {
        "aggregations",
        "of",
        "diverged",
    }
    assert set(manifest["versions"]) == {"dmafl", "torch", "numpy"}


def test_running_fields_are_those_of_a_run(looked):
    listed = [codes(row[0])[0] for row in table_rows(section("running.json"), "| Running field |")]
    written = json.loads((looked[0].path / "running.json").read_text())
    assert list(written) == ["schema", "units"]
    assert listed == list(written["units"]["fedasync-s0"]["digits"])


def test_files_of_a_run_are_those_of_the_page(looked):
    run, seen = looked
    listed = [code for row in table_rows(section("Run folder"), "| Path") for code in codes(row[0])]
    patterns = {
        path: re.escape(path)
        .replace("UNIT", r"[a-z]+-s0")
        .replace("TASK", "digits")
        .replace("SEED", "0")
        .replace("N", r"\d{6}")
        for path in listed
        if not path.startswith(OF_OTHER_RUNS)
    }
    for path, pattern in patterns.items():
        assert any(re.fullmatch(pattern, name) for name in seen), path
    for name in seen:
        assert any(re.fullmatch(pattern, name) for pattern in patterns.values()), name
    assert not (run.path / "parts").exists()
    assert not (run.path / "checkpoint").exists()


def test_outcomes_add_up_as_the_page_says(looked):
    periods = looked[0].periods.to_pylist()
    outcomes = next(
        codes(row[2]) for row in table_rows(section("periods.parquet"), "| Column") if "`outcome`" in row
    )
    assert {row["outcome"] for row in periods} <= set(outcomes)
    for row in periods:
        if row["outcome"] == "aggregated":
            phases = ("start_s", "download_s", "compute_s", "upload_s", "wait_s")
            assert np.isclose(sum(row[name] for name in phases), row["end_s"], rtol=1e-9)


def test_metadata_of_models_are_those_of_the_page(looked):
    told = codes(section("models/*.safetensors").partition("a JSON text with")[2].partition("`dmafl.")[0])
    models = list((looked[0].path / "models").iterdir())
    assert models
    for path in models:
        assert set(load(path).metadata) == set(told) - {"schema", "layout"}


def test_sweep_columns_are_those_of_the_file():
    from dmafl.experiments.sweep.outcome import NUMBERS
    from dmafl.experiments.sweep.sweep_folder import TEXTS

    assert columns("sweep.parquet") == [*TEXTS, *NUMBERS]
