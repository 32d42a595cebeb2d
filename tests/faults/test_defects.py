"""Every defect that an attack has found, by what a user saw of it. Each test failed before the defect was mended.

Commands are carried out as a user does, in processes of their own (`warm_shell`), and of the package only names are
used that were there before. `docs/reliability.md` has the table of defects and of what there was before.
"""

from __future__ import annotations

import inspect
import io
import json
import os
import select
import shutil
import socket
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from faults.commands import Ended
from faults.sealing import changed_manifest, changed_plan, changed_rows, changed_state, write_table
from faults.warm_shell import Shell
from support.patience import PATIENCE_S, wait_until

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to find processes")

SCENARIO = """
name = "tiny"
[fleet]
devices = 3
[evaluation]
every = 1
samples = 20
[tasks.one]
dataset = "tiny"
slots = 5
samples = 30
partition = "iid"
steps_min = 1
steps_max = 3
max_staleness = 2
idle_max_s = 0.5
mix_decay = 0.0
[tasks.two]
dataset = "tiny"
slots = 3
samples = 30
partition = "iid"
steps_min = 1
steps_max = 3
max_staleness = 1
"""
SCHEME_RUN = "fedasync-s0"
MOST_MB = 800.0
"""Of memory for a command that refuses a bomb; half of it is the warm process itself."""
SOON_S = 20.0
"""A hundred times what a refusal takes."""
STOPS = 12
"""Moments of a run at which it is stopped."""
SILENT_CLIENTS, MOST_THREADS = 100, 12
CUT_S = 30.0
"""The live page gives a client 5 s; a busy machine may take longer."""


@dataclass(frozen=True)
class Bench:
    """A shell, and the files that commands are given."""

    shell: Shell
    root: Path

    def __call__(self, *arguments: object, **settings: Any) -> Ended:
        return self.shell(*arguments, **settings)

    def scenario(self, name: str = "scenario", text: str = SCENARIO) -> Path:
        path = self.root / "files" / f"{name}.toml"
        path.write_text(text)
        return path

    def data(self) -> tuple[str, Path]:
        return "--data-dir", self.root / "files"

    def run(self, output: Path, *more: object, scenario: Path | None = None, **settings: Any) -> Ended:
        given = scenario if scenario is not None else self.root / "files" / "scenario.toml"
        schemes = () if "--scheme" in more else ("--scheme", "fedasync")
        fixed = ("run", given, *self.data(), *schemes, "--workers", 1, "-o", output)
        return self(*fixed, *more, **settings)

    def plan(self, scenario: Path, output: Path, *more: object, **settings: Any) -> Ended:
        quality = () if "--quality" in more else ("--quality", "printed")
        return self(
            "plan", scenario, *self.data(), *quality, *little("plan"), "-o", output, *more, **settings
        )


def little(command: str) -> tuple[str, str]:
    """Little work for a plan, in the option that this version of the command has."""
    from dmafl.cli import app

    callbacks = {
        registered.callback.__name__: registered.callback for registered in app.app.registered_commands
    }
    has = inspect.signature(callbacks[command]).parameters
    if "effort" in has:
        return "--effort", "0.3"
    return ("--plan-time" if command == "run" else "--time-limit"), "0.3"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    root = tmp_path_factory.mktemp("defects")
    (root / "files").mkdir()
    rng = np.random.default_rng(0)
    arrays = {}
    for part, count in (("train", 100), ("test", 30)):
        labels = rng.permutation(np.arange(count) % 10).astype(np.uint8)
        images = rng.integers(0, 120, (count, 28, 28), dtype=np.uint8)
        images[np.arange(count), :, labels * 2] += 120
        arrays |= {f"x_{part}": images, f"y_{part}": labels}
    np.savez(root / "files" / "tiny.npz", **arrays)
    shell = Shell(root, PATIENCE_S, DMAFL_CACHE_DIR=str(root / "cache"), DMAFL_DATA_DIR="")
    made = Bench(shell, root)
    made.scenario()
    try:
        yield made
    finally:
        shell.close()


@pytest.fixture(scope="module")
def finished(bench: Bench) -> Path:
    """A run with every kind of output."""
    measured = bench.root / "measured.json"
    orders = ("--probes", 12, "--workers", 1, "-o", measured)
    done(bench("measure", bench.scenario(), *bench.data(), *orders))
    schemes = ("--scheme", "fedasync", "--scheme", "dma-fl", *little("run"))
    done(bench.run(bench.root / "finished", *schemes, "--measured", measured))
    return bench.root / "finished"


@pytest.fixture(scope="module")
def halted(bench: Bench) -> Path:
    """A run that was killed when its state was saved for the sixth time."""
    ended = bench.run(bench.root / "halted", "--checkpoint-s", 0, prepare=[["die_at_save", 6]])
    assert ended.code == 137, ended
    return bench.root / "halted"


@pytest.fixture(scope="module")
def plan(bench: Bench) -> Path:
    done(bench.plan(bench.scenario(), bench.root / "plan.json"))
    return bench.root / "plan.json"


def shown(ended: Ended) -> str:
    """A traceback, its last line first."""
    trace = ended.traces[0].strip()
    return f"a traceback: {trace.splitlines()[-1]}\n{trace}"


def done(ended: Ended) -> None:
    """It ended well."""
    assert not ended.hung, ended.hung
    assert not ended.traces, shown(ended)
    assert ended.code == 0, ended.text[-1500:]


def refused(ended: Ended, name: str) -> None:
    """Exit code 2 and one message that has the name; soon, and with little memory."""
    assert not ended.hung, ended.hung
    assert not ended.traces, shown(ended)
    assert ended.peak_MB < MOST_MB, f"{ended.peak_MB:.0f} MB of memory; it said {ended.text[-300:]}"
    assert ended.code == 2, f"exit code {ended.code}: {ended.text[-400:]}"
    assert len(ended.messages) == 1, ended.text[-1500:]
    assert name in ended.messages[0], ended.messages[0]


def doubted(ended: Ended) -> None:
    """`verify` fails a check or refuses the files; it neither believes them nor breaks down."""
    assert not ended.hung, ended.hung
    assert not ended.traces, shown(ended)
    assert ended.peak_MB < MOST_MB, f"{ended.peak_MB:.0f} MB of memory; it said {ended.text[-300:]}"
    assert ended.code in (1, 2), f"exit code {ended.code}: {ended.text.splitlines()[-1:]}"


def copied(run: Path, to: Path) -> Path:
    return Path(shutil.copytree(run, to))


def outputs(run: Path) -> dict[str, bytes]:
    return {
        name: (run / name).read_bytes() for name in ("metrics.parquet", "periods.parquet", "running.json")
    }


# -- High 1: a stop while a result is awaited, then --resume ------------------------------------------------


def test_runs_stopped_while_results_are_awaited_go_on_to_the_same_files(bench: Bench, tmp_path: Path) -> None:
    """High 1: an upload whose result was not there yet was lost from the saved state, and the run ended with others."""
    looks = tmp_path / "looks"
    unstopped = [["slow_results", 10**9, str(looks)]]
    schemes = ("--scheme", "fedasync", "--scheme", "fedavg-partial")
    done(bench.run(tmp_path / "whole", *schemes, prepare=unstopped))
    expected, count = outputs(tmp_path / "whole"), int(looks.read_text())
    assert count > 2 * STOPS
    differing = []
    for stop in range(0, count, count // STOPS):
        folder = tmp_path / str(stop)
        assert bench.run(folder, *schemes, prepare=[["slow_results", stop, str(looks)]]).code == 130
        done(bench.run(folder, *schemes, "--resume", prepare=unstopped))
        if outputs(folder) != expected:
            differing.append(stop)
    assert not differing, f"other results after stops at looks {differing} of {count}"


def test_a_run_that_ends_before_its_last_slot_is_not_finished(bench: Bench, tmp_path: Path) -> None:
    """High 1: a run with 33 of 40 aggregations said that it was finished, with exit code 0."""
    ended = bench.run(tmp_path / "run", prepare=[["tired_policies"]])
    refused(ended, "aggregations")
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["status"] == "failed"


# -- High 2: workers outlive a killed command ----------------------------------------------------------------


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_workers_end_with_a_command_that_is_killed(bench: Bench, tmp_path: Path, command: str) -> None:
    """High 2: worker processes went on for ever; those of a sweep went on computing and writing."""
    long = bench.scenario("long", SCENARIO.replace("slots = 5", "slots = 100000"))
    varied = ("--set", "tasks.two.slots=3,4") if command == "sweep" else ("--checkpoint-s", 0.1)
    fixed = (command, long, *bench.data(), "--scheme", "fedasync", "--workers", 2, "-o", tmp_path / "out")
    going = bench.shell.start(*fixed, *varied, prepare=[["warm_workers"]])
    if command == "sweep":
        going.until(tmp_path, "out/points/*/manifest.json", 2)
    else:
        going.until(tmp_path, "out/parts/*/metrics-*.parquet", 2)
    assert going.send("SIGKILL")
    ended = going.end()
    assert ended.code == -9
    workers = [one for one in ended.outlived if "resource_tracker" not in one]
    assert not workers, f"alive two seconds after the command: {workers}"


# -- High 3: `verify` says that all checks hold on nonsense ---------------------------------------------------


def first_and_last(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first and the last test of every task of every scheme."""
    ends: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        ends.setdefault((row["scheme"], row["task"]), []).append(row)
    return [row for row in rows if row in (ends[row["scheme"], row["task"]][k] for k in (0, -1))]


def every(table: str, **values: Any) -> tuple[str, Callable[[Any], Any]]:
    return table, lambda rows: [row | values for row in rows]


def third(table: str, **values: Any) -> tuple[str, Callable[[Any], Any]]:
    return table, lambda rows: rows[2].update(values)


NAN = float("nan")
NONSENSE: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "energies of computing that are no numbers": every("periods", compute_J=NAN),
    "energies of uploads that are no numbers": every("periods", uplink_J=NAN),
    "energies of downloads that are no numbers": every("periods", downlink_J=NAN),
    "waits that are no numbers": every("periods", wait_s=NAN),
    "tests with -1 samples": every("metrics", test_samples=-1),
    "tests of an unknown scheme": ("metrics", lambda rows: [*rows, rows[0] | {"scheme": "made-up"}]),
    "periods of an unknown scheme": ("periods", lambda rows: [*rows, rows[0] | {"scheme": "made-up"}]),
    "most tests gone": ("metrics", first_and_last),
}


@pytest.mark.parametrize("case", NONSENSE)
def test_verify_finds_nonsense_in_tables(bench: Bench, finished: Path, tmp_path: Path, case: str) -> None:
    """High 3: all checks held."""
    path = copied(finished, tmp_path / "run")
    changed_rows(path, *NONSENSE[case])
    doubted(bench("verify", path))


MANIFESTS: dict[str, Callable[[Any], Any]] = {
    "tasks = -1 in the scenario": lambda manifest: manifest["scenario"].update(tasks=-1),
    "no scenario": lambda manifest: manifest.update(scenario={}),
    "-1 slots": lambda manifest: manifest["units"][SCHEME_RUN]["tasks"]["one"].update(of=-1),
    "no tasks of a scheme run": lambda manifest: manifest["units"][SCHEME_RUN]["tasks"].clear(),
    "no data": lambda manifest: manifest.update(data={}),
    "an unknown status": lambda manifest: manifest.update(status="done"),
    "a finished run whose scheme run waits": lambda manifest: manifest["units"][SCHEME_RUN].update(
        status="waiting"
    ),
}


@pytest.mark.parametrize("case", MANIFESTS)
def test_verify_finds_nonsense_in_the_manifest(
    bench: Bench, finished: Path, tmp_path: Path, case: str
) -> None:
    """High 3: all checks held."""
    path = copied(finished, tmp_path / "run")
    changed_manifest(path, MANIFESTS[case])
    doubted(bench("verify", path))


@pytest.mark.parametrize(
    "name", [f"models/{SCHEME_RUN}-one.safetensors", "plans/dma-fl-s0.json", "running.json"]
)
@pytest.mark.parametrize("damage", ["one bit", "half", "gone"])
def test_verify_reads_every_output(
    bench: Bench, finished: Path, tmp_path: Path, name: str, damage: str
) -> None:
    """High 3: models, plans and running estimates were never read."""
    file = copied(finished, tmp_path / "run") / name
    content = file.read_bytes()
    middle = len(content) // 2
    if damage == "gone":
        file.unlink()
    else:
        rest = bytes([content[middle] ^ 1]) + content[middle + 1 :] if damage == "one bit" else b""
        file.write_bytes(content[:middle] + rest)
    doubted(bench("verify", tmp_path / "run"))


# -- Medium 4: checkpoints without a checksum -----------------------------------------------------------------


STATES: dict[str, Callable[[Any], Any]] = {
    "another time": lambda state: state["unit"]["transport"].update(now=99),
    "another count of jobs": lambda state: state["unit"]["server"].update(jobs=99),
    "no transport": lambda state: state["unit"].update(transport=[]),
    "no server": lambda state: state["unit"].update(server={}),
    "no records": lambda state: state["unit"].pop("records"),
    "tasks = -1": lambda state: state["unit"]["server"].update(tasks=-1),
}


@pytest.mark.parametrize("case", STATES)
def test_a_damaged_state_is_refused(bench: Bench, halted: Path, tmp_path: Path, case: str) -> None:
    """Medium 4: states with other numbers were believed, those with other entries gave tracebacks."""
    path = copied(halted, tmp_path / "run")
    changed_state(path / "checkpoint" / SCHEME_RUN / "state.json", STATES[case])
    refused(bench.run(path, "--resume"), "state.json")


def test_a_checkpoint_whose_arrays_lack_one_is_refused(bench: Bench, halted: Path, tmp_path: Path) -> None:
    """Medium 4: a traceback."""
    path = copied(halted, tmp_path / "run")
    (file,) = (path / "checkpoint" / SCHEME_RUN).glob("arrays-*.npz")
    with np.load(file) as found:
        arrays = dict(found)
    arrays.pop(sorted(arrays)[-1])
    np.savez(file, **arrays)
    refused(bench.run(path, "--resume"), file.name)


def other_table(content: bytes) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"x": [1]}), buffer)
    return buffer.getvalue()


PARTS: dict[str, Callable[[bytes], bytes]] = {
    "half": lambda content: content[: len(content) // 2],
    "empty": lambda content: b"",
    "another table": other_table,
}


@pytest.mark.parametrize("case", [*PARTS, "gone"])
def test_a_damaged_part_is_refused(bench: Bench, halted: Path, tmp_path: Path, case: str) -> None:
    """Medium 4: parts cut short gave tracebacks; without one, or with another table, the run went on to its end."""
    path = copied(halted, tmp_path / "run")
    file = path / "parts" / SCHEME_RUN / "periods-000003.parquet"
    if case == "gone":
        file.unlink()
    else:
        file.write_bytes(PARTS[case](file.read_bytes()))
    refused(bench.run(path, "--resume"), file.name)


# -- Medium 5: other tracebacks, and numbers that are none ----------------------------------------------------


PERIODS = {
    "no task": third("periods", task=None),
    "an unknown task": third("periods", task="x"),
    "no device": third("periods", device=None),
    "device -1": third("periods", device=-1),
    "device 1,000,000": third("periods", device=10**6),
}


@pytest.mark.parametrize("case", PERIODS)
def test_periods_of_nothing_give_no_traceback(
    bench: Bench, finished: Path, tmp_path: Path, case: str
) -> None:
    """Medium 5: `verify` ended with a traceback."""
    path = copied(finished, tmp_path / "run")
    changed_rows(path, *PERIODS[case])
    doubted(bench("verify", path))


@pytest.mark.parametrize("table", ["metrics", "periods"])
def test_tables_with_text_that_is_none_give_no_traceback(
    bench: Bench, finished: Path, tmp_path: Path, table: str
) -> None:
    """Medium 5: names of tasks that are no UTF-8."""
    path = copied(finished, tmp_path / "run")
    found = pq.read_table(path / f"{table}.parquet")
    names = pa.array([b"\xff\xfe"] * len(found)).view(pa.string())
    place = found.column_names.index("task")
    write_table(path, table, found.set_column(place, found.schema.field("task"), names))
    doubted(bench("verify", path))


BROKEN_MANIFESTS: dict[str, Callable[[Any], Any]] = {
    "tasks of a scheme run = -1": lambda manifest: manifest["units"][SCHEME_RUN].update(tasks=-1),
    "a task of a scheme run = -1": lambda manifest: manifest["units"][SCHEME_RUN]["tasks"].update(one=-1),
    "aggregations in words": lambda manifest: manifest["units"][SCHEME_RUN]["tasks"]["one"].update(
        aggregations="x"
    ),
    "measured = 5": lambda manifest: manifest.update(measured=5),
    "measured of seed x": lambda manifest: manifest.update(measured={"x": "a" * 64}),
    "measured without a checksum": lambda manifest: manifest.update(measured={"0": 1}),
}


@pytest.mark.parametrize("case", BROKEN_MANIFESTS)
def test_a_broken_manifest_gives_no_traceback(
    bench: Bench, finished: Path, tmp_path: Path, case: str
) -> None:
    """Medium 5: `verify` ended with a traceback; the last three are what a run says of its measured constants."""
    path = copied(finished, tmp_path / "run")
    changed_manifest(path, BROKEN_MANIFESTS[case])
    refused(bench("verify", path), "manifest.json")


NUMBERS = {
    "a whole number of 400 digits": ("battery_J", "9" * 400),
    "a whole number of 5000 digits": ("battery_J", "9" * 5000),
    "a long hexadecimal number": ("battery_J", "0x" + "f" * 5000),
    "a path with a zero byte": ("table", '"a\\u0000b"'),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_odd_values_of_a_scenario_are_refused(bench: Bench, tmp_path: Path, case: str) -> None:
    """Medium 5: `check` ended with a traceback."""
    name, value = NUMBERS[case]
    text = SCENARIO.replace("devices = 3", f"devices = 3\n{name} = {value}")
    path = bench.scenario("odd", text)
    named = path.name if "5000 digits" in case else name
    refused(bench("check", path, "--no-data"), named)


HEADERS = {"channel": "direction,device,index,gain\n", "mobility": "device,time_s,distance_m\n"}


@pytest.mark.parametrize("kind", HEADERS)
def test_a_trace_with_a_header_only_is_refused(bench: Bench, kind: str) -> None:
    """Medium 5: `check` ended with a traceback."""
    (bench.root / "files" / f"{kind}.csv").write_text(HEADERS[kind])
    text = SCENARIO + f'\n[{kind}]\nkind = "trace"\nfile = "{kind}.csv"\n'
    refused(bench("check", bench.scenario("header", text), "--no-data"), f"{kind}.csv")


def test_a_device_table_with_a_header_only_is_called_that(bench: Bench) -> None:
    """Medium 5: it was refused with the advice to set fleet.devices = 0, which is refused in turn."""
    (bench.root / "files" / "devices.csv").write_text("id,battery_J\n")
    text = SCENARIO.replace("devices = 3", 'devices = 3\ntable = "devices.csv"')
    refused(
        bench("check", bench.scenario("header", text), "--no-data"), "devices.csv` must have at least one row"
    )


PLANS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "an objective of 1e999": (lambda plan: plan.update(objective="@"), "1e999"),
    "a term of 1e999": (lambda plan: plan["terms"]["one"].update(quality="@"), "1e999"),
    "a violation of 1e999": (lambda plan: plan["violations"].update(S0_staleness="@"), "1e999"),
    "an objective of 400 digits": (lambda plan: plan.update(objective="@"), "9" * 400),
    "a violation in words": (lambda plan: plan["violations"].update(S0_staleness="x"), ""),
    "terms = -1": (lambda plan: plan["terms"].update(one=-1), ""),
    "a term in words": (lambda plan: plan["terms"]["one"].update(quality="x"), ""),
}


@pytest.mark.parametrize("case", PLANS)
def test_a_plan_with_numbers_that_are_none_is_refused(
    bench: Bench, plan: Path, tmp_path: Path, case: str
) -> None:
    """Medium 5: 1e999 was read as infinity, and all checks held; a violation in words gave a traceback."""
    change, odd = PLANS[case]
    changed_plan(plan, lambda content: None, tmp_path / "same.json")
    done(bench("verify", tmp_path / "same.json"))
    changed_plan(plan, change, tmp_path / "odd.json", odd)
    refused(bench("verify", tmp_path / "odd.json"), "odd.json")


def test_a_plan_in_parquet_with_deep_metadata_is_refused(bench: Bench, tmp_path: Path) -> None:
    """Medium 5: `verify` ended with a traceback."""
    done(bench.plan(bench.scenario(), tmp_path / "plan.parquet"))
    table = pq.read_table(tmp_path / "plan.parquet")
    (key,) = (key for key in table.schema.metadata if b"plan" in key)
    header = json.dumps(json.loads(table.schema.metadata[key]) | {"constants": "@"})
    deep = header.replace('"@"', "[" * 100_000 + "]" * 100_000).encode()
    pq.write_table(table.replace_schema_metadata({key: deep}), tmp_path / "deep.parquet")
    refused(bench("verify", tmp_path / "deep.parquet"), "deep.parquet")


@pytest.mark.parametrize("case", ["accuracy of 7", "accuracy of 1e999", "energy of 1e999", "total of 1e999"])
def test_outcomes_of_the_study_that_cannot_be_are_refused(tmp_path: Path, case: str) -> None:
    """Medium 5: they were read."""
    from dmafl.base.errors import BadInput
    from dmafl.experiments.reproduction.outcome import CURVE, TOTALS
    from dmafl.experiments.reproduction.results import Results
    from dmafl.experiments.reproduction.study_run import StudyRun

    what, _, value = case.partition(" of ")
    curve: dict[str, list[Any]] = {name: [0.0, 0.25, 0.5] for name in CURVE}
    task = {"totals": dict.fromkeys(TOTALS, 1.0), "curve": curve}
    study_run, results = StudyRun("phone", "iid", "fedasync", 1), Results(tmp_path)
    results.write("k", study_run, {"mnist": task}, {})
    (file,) = tmp_path.rglob("k.json")
    content = json.loads(file.read_text())
    content.pop("sha256", None)  # outcomes of before have none, and are read
    file.write_text(json.dumps(content))
    assert results.read("k", study_run).tasks["mnist"].energy_J[-1] == 0.5
    own = content["tasks"]["mnist"]
    if what == "total":
        own["totals"]["compute_J"] = "@"
    else:
        own["curve"]["accuracy" if what == "accuracy" else "energy_J"][-1] = "@"
    file.write_text(json.dumps(content).replace('"@"', value))
    with pytest.raises(BadInput):
        results.read("k", study_run)


# -- Medium 6: bombs ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bombs(bench: Bench) -> Path:
    """Small files that are large when they are read; made once."""
    folder = bench.root / "files"
    zeros = np.zeros(1_000_000)
    rows = pa.table({str(k): zeros for k in range(4)})
    with pq.ParquetWriter(folder / "rows.parquet", rows.schema, compression="zstd") as writer:
        for _ in range(40):
            writer.write_table(rows)
    same = pa.array(np.zeros(2000, dtype=np.int32))
    texts = pa.table({"a": pa.DictionaryArray.from_arrays(same, ["x" * 1_000_000])})
    pq.write_table(texts, folder / "texts.parquet", compression="zstd", store_schema=False)
    (folder / "key.toml").write_text(".".join(["a"] * 50_000) + " = 1\n")
    header = io.BytesIO()
    shape = {"descr": "|u1", "fortran_order": False, "shape": (2_000_000, 28, 28)}
    np.lib.format.write_array_header_1_0(header, shape)
    with zipfile.ZipFile(folder / "bomb.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("x_train.npy", "w", force_zip64=True) as file:
            file.write(header.getvalue())
            for _ in range(200):
                file.write(bytes(28 * 28 * 10_000))
        for name, array in (
            ("y_train", np.zeros(2_000_000, np.uint8)),
            ("x_test", np.zeros((1, 28, 28), np.uint8)),
            ("y_test", np.zeros(1, np.uint8)),
        ):
            buffer = io.BytesIO()
            np.save(buffer, array)
            archive.writestr(f"{name}.npy", buffer.getvalue())
    assert sum((folder / name).stat().st_size for name in ("rows.parquet", "texts.parquet")) < 1_000_000
    return folder


@pytest.mark.parametrize("name", ["rows.parquet", "texts.parquet"])
def test_a_parquet_file_that_grows_is_refused_as_plan_and_as_table(
    bench: Bench, bombs: Path, name: str
) -> None:
    """Medium 6: less than a megabyte took gigabytes."""
    refused(bench("verify", bombs / name), name)
    text = SCENARIO.replace("devices = 3", f'devices = 3\ntable = "{name}"')
    refused(bench("check", bench.scenario("large", text), "--no-data"), name)


def test_metrics_that_grow_are_found(bench: Bench, bombs: Path, finished: Path, tmp_path: Path) -> None:
    """Medium 6: the same in a run."""
    path = copied(finished, tmp_path / "run")
    shutil.copy(bombs / "rows.parquet", path / "metrics.parquet")
    changed_manifest(path, lambda manifest: None)
    doubted(bench("verify", path))


def test_a_data_set_that_grows_is_refused(bench: Bench, bombs: Path) -> None:
    """Medium 6: seven megabytes took 1.6 GB."""
    scenario = bench.scenario("bomb", SCENARIO.replace('"tiny"\nslots', '"bomb"\nslots'))
    refused(bench("check", scenario, *bench.data()), "bomb.npz")


def test_a_key_of_many_parts_is_refused(bench: Bench, bombs: Path) -> None:
    """Medium 6: a line of 100 kB took 6 GB and over a minute."""
    refused(bench("check", bombs / "key.toml", "--no-data", limit_s=SOON_S), "key.toml")


def test_a_pipe_is_refused(bench: Bench, tmp_path: Path) -> None:
    """Medium 6: it was waited for."""
    os.mkfifo(tmp_path / "scenario.toml")
    refused(bench("check", tmp_path / "scenario.toml", "--no-data", limit_s=SOON_S / 4), "scenario.toml")


def test_an_endless_device_is_refused(bench: Bench) -> None:
    """Medium 6: it was read until memory was full."""
    refused(bench("check", "/dev/zero", "--no-data", limit_s=SOON_S), "/dev/zero")


# -- Medium 7: extremes that a scenario allowed ---------------------------------------------------------------


def fleet(line: str) -> str:
    return SCENARIO.replace("devices = 3", f"devices = 3\n{line}")


def task(line: str) -> str:
    """The same for both tasks."""
    return SCENARIO.replace("samples = 30", f"samples = 30\n{line}")


EXTREMES: dict[str, tuple[str, str]] = {
    "uplink_bandwidth_Hz": (fleet("uplink_bandwidth_Hz = 1e-300"), "plan"),
    "uplink_bandwidth_Hz, without end": (fleet("uplink_bandwidth_Hz = 1e-290"), "plan"),
    "downlink_bandwidth_Hz": (fleet("downlink_bandwidth_Hz = 1e-300"), "plan"),
    "flops_per_cycle": (fleet("flops_per_cycle = 1e-300"), "plan"),
    "uplink_gain": (SCENARIO + '[channel]\nkind = "fixed"\nuplink_gain = 1e-300\n', "plan"),
    "learning_rate": (task("learning_rate = 1e-300"), "plan"),
    "mixing": (task("mixing = 1e-300"), "plan --quality sharp"),
    "cycles_per_sample": (task("cycles_per_sample = 1e-300"), "plan --quality sharp"),
    "distance_m": (fleet('table = "far.csv"'), "run"),
    "bits_per_parameter": (task("bits_per_parameter = 1e-300"), "run"),
}


@pytest.mark.parametrize("case", EXTREMES)
def test_an_extreme_is_refused_or_gives_sense(bench: Bench, tmp_path: Path, case: str) -> None:
    """Medium 7: plans with transfers of 0 s, planning without end, tracebacks, honest runs that fail `verify`."""
    text, command = EXTREMES[case]
    (bench.root / "files" / "far.csv").write_text("id,distance_m\na,1e300\nb,10\nc,20\n")
    scenario, output = bench.scenario("extreme", text), tmp_path / "out.json"
    if command == "run":
        ended = bench.run(output, scenario=scenario, limit_s=SOON_S)
    else:
        ended = bench.plan(scenario, output, *command.split()[1:], limit_s=SOON_S)
    if ended.code != 0:
        refused(ended, case.partition(",")[0])
        return
    assert not ended.traces
    if command != "run":
        times = [(job["upload_s"], job["download_s"]) for job in json.loads(output.read_text())["jobs"]]
        assert min(map(min, times)) > 0, "a plan with transfers that take no time"
    done(bench("verify", output))


WEIGHTS = ("quality_weight_printed", "quality_weight_sharp", "device_energy_weight", "station_energy_weight")


@pytest.mark.parametrize("quality", ["printed", "sharp"])
@pytest.mark.parametrize("solver", ["auto", "exhaustive"])
def test_an_objective_of_weights_0_is_planned_with(
    bench: Bench, tmp_path: Path, solver: str, quality: str
) -> None:
    """Medium 7: `plan` ended with a traceback."""
    short = SCENARIO.replace("slots = 5", "slots = 2").replace("slots = 3", "slots = 2")
    text = short + "[objective]\n" + "".join(f"{name} = 0.0\n" for name in WEIGHTS)
    output = tmp_path / "plan.json"
    done(bench.plan(bench.scenario("nothing", text), output, "--quality", quality, "--solver", solver))
    done(bench("verify", output))


# -- Medium 8: a name that moves the folder -------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["up", "absolute"])
def test_a_name_does_not_move_the_folder_of_a_run(bench: Bench, tmp_path: Path, kind: str) -> None:
    """Medium 8: the run was in a folder beside, above or far from `runs`."""
    here = tmp_path / "a" / "b"
    here.mkdir(parents=True)
    name = "../../x" if kind == "up" else str(tmp_path / "x")
    scenario = bench.scenario("name", SCENARIO.replace('"tiny"\n[fleet]', f'"{name}"\n[fleet]'))
    done(bench("run", scenario, *bench.data(), "--scheme", "fedasync", "--workers", 1, folder=here))
    (manifest,) = tmp_path.rglob("manifest.json")
    assert manifest.parent.parent == here / "runs"


# -- Low 9 ----------------------------------------------------------------------------------------------------


@pytest.fixture
def page(finished: Path) -> Iterator[tuple[str, int]]:
    from dmafl.reports.html.live import LivePage

    with LivePage(finished, port=0) as served:
        address = urlsplit(served.address)
        assert address.hostname is not None and address.port is not None
        yield address.hostname, address.port


def asked(address: tuple[str, int], request: str) -> bytes:
    """What the live page answers first."""
    with socket.create_connection(address, CUT_S) as made:
        made.sendall(f"GET {request} HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\n\r\n".encode())
        return made.recv(1000)


def test_silent_clients_hold_few_threads_and_are_cut(page: tuple[str, int]) -> None:
    """Low 9: every connection held a thread of the live page, for as long as it liked."""
    before = threading.active_count()
    clients = [socket.create_connection(page, CUT_S) for _ in range(SILENT_CLIENTS)]
    try:
        asked(page, "/content.json")
        held = threading.active_count() - before
        assert held <= MOST_THREADS, f"{held} threads for {SILENT_CLIENTS} clients that say nothing"
        waiting = set(clients)

        def all_cut() -> bool:
            waiting.difference_update(select.select(list(waiting), [], [], 0)[0])
            return not waiting

        wait_until(all_cut, "the end of silent connections", CUT_S)
    finally:
        for one in clients:
            one.close()


def test_an_address_that_is_none_is_answered_and_nothing_is_printed(
    page: tuple[str, int], capfd: pytest.CaptureFixture[str]
) -> None:
    """Low 9: a traceback in the terminal of the run, and no answer."""
    answer = asked(page, "http://[::1")
    assert capfd.readouterr() == ("", "")
    assert answer.split(b" ")[1] == b"400"


def test_a_sweep_that_cannot_write_says_which_file(bench: Bench, tmp_path: Path) -> None:
    """Low 9: a traceback, and that memory was wanting."""
    ended = bench(
        *("sweep", bench.scenario(), *bench.data(), "--scheme", "fedasync", "--workers", 2),
        *("--set", "tasks.one.slots=4,5", "-o", tmp_path / "sweep"),
        prepare=[["warm_workers"], ["full_disk", 20_000]],
    )
    refused(ended, "arrays-")
    assert "memory" not in ended.text


def test_two_sweeps_in_one_folder_leave_each_other_alone(bench: Bench, tmp_path: Path) -> None:
    """Low 9: the second deleted what the first was writing, and the first failed."""
    held, let_go = tmp_path / "held", tmp_path / "let-go"
    order = (
        *("sweep", bench.scenario(), *bench.data(), "--scheme", "fedasync", "--workers", 1),
        *("--set", "tasks.one.slots=4", "-o", tmp_path / "sweep"),
    )
    first = bench.shell.start(*order, prepare=[["hold_at_a_write", str(held), str(let_go)]])
    first.until(tmp_path, "held")
    second = bench(*order)
    let_go.touch()
    done(first.end())
    refused(second, str(tmp_path / "sweep"))


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_output_in_another_encoding(bench: Bench, tmp_path: Path, encoding: str) -> None:
    """Low 9: UnicodeEncodeError, of a run when all was done."""
    prepare = [["output_in", encoding]]
    scenario = bench.scenario("signs", SCENARIO.replace('"tiny"\n[fleet]', '"tiny ± σ"\n[fleet]'))
    done(bench("check", scenario, "--no-data", prepare=prepare))
    done(bench.run(tmp_path / "run", scenario=scenario, prepare=prepare))


@pytest.mark.parametrize("kind", ["scenario", "device", "folder"])
def test_names_are_no_markup(bench: Bench, tmp_path: Path, kind: str) -> None:
    """Low 9: a closing tag in a name ended the command with a traceback."""
    if kind == "folder":
        ended = bench.run(tmp_path / "q[" / "bold]")
        shown = "q[/bold]"
    elif kind == "device":
        (bench.root / "files" / "named.csv").write_text("id,distance_m\n[/bold] a,10\nb,20\nc,30\n")
        scenario = bench.scenario("named", fleet('table = "named.csv"'))
        ended, shown = bench("check", scenario, "--no-data"), "[/bold] a"
    else:
        scenario = bench.scenario("named", SCENARIO.replace('"tiny"\n[fleet]', '"v2 [/bold]"\n[fleet]'))
        ended, shown = bench("check", scenario, "--no-data"), "v2 [/bold]"
    done(ended)
    assert shown in ended.text


def test_what_a_stop_before_the_cleaning_left_goes(bench: Bench, tmp_path: Path) -> None:
    """Low 9: `parts/` and `checkpoint/` stayed for ever."""
    bench.run(tmp_path / "run", prepare=[["stop_before_the_cleaning"]])
    assert (tmp_path / "run" / "parts").exists()
    done(bench.run(tmp_path / "run", "--resume"))
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert not names & {"parts", "checkpoint"}, names


@pytest.mark.parametrize("command", ["check", "plan"])
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_outside_a_run_is_exit_code_130(bench: Bench, command: str, name: str) -> None:
    """Low 9: the command ended by the signal, with 143 for SIGTERM, and said nothing."""
    ended = bench(command, bench.scenario(), prepare=[["stop_inside", name]], limit_s=SOON_S)
    assert ended.code == 130
    assert ended.text.startswith("interrupted")


def test_a_plan_does_not_depend_on_how_busy_the_machine_is(bench: Bench, tmp_path: Path) -> None:
    """Low 9: effort was counted in seconds, so that a crash before a plan was kept gave another one."""
    text = SCENARIO.replace("slots = 5", "slots = 30").replace("slots = 3", "slots = 20")
    scenario = bench.scenario("larger", text.replace("devices = 3", "devices = 6"))
    plans = []
    for name, prepare in (("idle", []), ("busy", [["fast_clock"]])):
        done(bench.plan(scenario, tmp_path / f"{name}.json", prepare=prepare))
        plans.append(json.loads((tmp_path / f"{name}.json").read_text())["jobs"])
    assert plans[0] == plans[1]
