"""Small good files of every kind, and what is read of them."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import struct
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import dmafl
from dmafl.base.files import read_checked, sha256_of, write_checked
from dmafl.base.watching import Watcher
from dmafl.calibration.cache import Cache
from dmafl.calibration.running_estimates import RunningEstimates
from dmafl.calibration.shipped import shipped_file
from dmafl.data import npz
from dmafl.experiments.reproduction.outcome import CURVE, TOTALS
from dmafl.experiments.reproduction.results import Results
from dmafl.experiments.reproduction.study_run import StudyRun
from dmafl.experiments.run.folder import RunFolder
from dmafl.experiments.sweep.sweep_folder import Sweep
from dmafl.learning import saving
from dmafl.scenario import toml
from dmafl.schemes.registry import scheme_named
from dmafl.schemes.scheme import SchemeContext
from dmafl.simulation.scheme_run import SchemeRun
from dmafl.training.trainer import Trainer
from dmafl.training.workers import Trainers, open_workers
from dmafl.world.world import World
from support.brought import run_with
from support.small_runs import components, dataset, scenario, softmax


class Stop(Exception):
    pass


CHECKPOINT = "checkpoint/fedasync-s0"
PARTS = "parts/fedasync-s0"


class StopsAfter(Watcher):
    def __init__(self, events: int) -> None:
        self.left = events

    def advanced(self, name: str, piece: str, progress: Any) -> None:
        self.left -= 1
        if self.left == 0:
            raise Stop


def small_scenario() -> Any:
    return scenario({"one": {"slots": 4}}, devices=3)


@cache
def finished() -> Path:
    """The folder of a small finished run."""
    return make_run("finished")


@cache
def halted() -> Path:
    """The folder of a small run that was stopped, with parts and a checkpoint."""
    return make_run("halted", watcher=StopsAfter(4), checkpoint_every_s=0.0)


@cache
def place() -> Path:
    where = "/dev/shm" if Path("/dev/shm").is_dir() else None
    return Path(tempfile.mkdtemp(prefix="dmafl-kinds-", dir=where))


def clean_up() -> None:
    """Remove the good files."""
    shutil.rmtree(place(), ignore_errors=True)
    for one in (finished, halted, place):
        one.cache_clear()


def make_run(name: str, **more: Any) -> Path:
    small, folder = small_scenario(), place() / name
    with suppress(Stop):
        run_with(
            small,
            schemes=["fedasync"],
            models={"one": softmax},
            datasets={"one": dataset()},
            output=folder,
            **more,
        )
    return folder


def file_of(run: Callable[[], Path], pattern: str) -> Callable[[], bytes]:
    return lambda: sorted(run().glob(pattern))[0].read_bytes()


def copied(run: Callable[[], Path]) -> Callable[[Path], None]:
    return lambda folder: shutil.copytree(run(), folder, dirs_exist_ok=True) and None


def dumped(plain: Any) -> bytes:
    """As JSON, with the texts that stand for odd numbers taken out of their quotes."""
    text = json.dumps(plain)
    for name, number in ODD_NUMBERS.items():
        text = text.replace(f'"{name}"', number)
    return text.encode("utf-8", "surrogatepass")


ODD_NUMBERS = {
    "@huge": "1e999",
    "@tiny": "1e-999",
    "@long": "9" * 400,
    "@longer": "9" * 5000,
    "@large": str(2**63),
    "@not": "NaN",
    "@infinite": "-Infinity",
    "@deep": "[" * 200 + "]" * 200,
    "@deeper": "[" * 20000 + "]" * 20000,
    "@half": '"\\ud800"',
    "@twice": '{"a": 1, "a": 2}',
}


def sealed(plain: Any) -> bytes:
    """As `write_checked` writes it."""
    body = dumped(plain)
    return b'{"sha256": "' + sha256_of(body).encode() + b'",\n"content": ' + body + b"}\n"


def content_of(good: bytes) -> Any:
    return json.loads(good)["content"]


# -- what belongs to a run ---------------------------------------------------------------------------------


def resumed(folder: Path) -> object:
    """As far as a scheme run that goes on: state, arrays and parts are read, and the scheme run is made from them."""
    for part in (halted() / PARTS).iterdir():
        if not (folder / PARTS / part.name).exists():  # a forged state may have had it removed
            shutil.copy(part, folder / PARTS / part.name)
    found = RunFolder(folder).read_checkpoint("fedasync-s0")
    if found is None:
        return None
    with RunFolder(folder).checkpoint("fedasync-s0").restoring():
        make_scheme_run().restore(found[0]["unit"], found[1])
    return found


@cache
def bench() -> tuple[World, Trainer, Any]:
    small = small_scenario()
    trainers = Trainers(small, components(small))
    workers = open_workers(1, trainers, small, components(small)).__enter__()
    return World.resolve(small), trainers.of(0), workers


def make_scheme_run() -> SchemeRun:
    world, trainer, workers = bench()
    benches = trainer.tasks
    running = RunningEstimates(
        world.task_names,
        world.device_count,
        [bench.model.size for bench in benches],
        [bench.settings.learning_rate for bench in benches],
        0,
    )
    return SchemeRun(
        "fedasync", world, trainer, workers, scheme_named("fedasync").policies(SchemeContext(world)), running
    )


def run_checked(folder: Path) -> object:
    run = dmafl.Run(folder)
    return run.manifest, run.scenario, [run.world(seed) for seed in run.manifest.seeds], run.measured


# -- plans, measurements and the study ---------------------------------------------------------------------


def good_plan(suffix: str) -> Callable[[], bytes]:
    def made() -> bytes:
        world = World.resolve(small_scenario())
        path = place() / f"good{suffix}"
        dmafl.write_plan(dmafl.Plan(world, dmafl.round_robin(world, in_flight=2)), path)
        return path.read_bytes()

    return made


def good_measured() -> bytes:
    plain = json.loads(shipped_file().read_bytes())
    task = sorted(plain["tasks"])[0]
    return json.dumps(plain | {"tasks": {task: plain["tasks"][task]}}).encode()


def kept_by(write: Callable[[Cache], None], pattern: str) -> Callable[[], bytes]:
    def made() -> bytes:
        folder = place() / "cache"
        write(Cache(folder))
        return next(folder.rglob(pattern)).read_bytes()

    return made


STUDY_RUN = StudyRun("phone", "iid", "fedasync", 1)


def good_outcome() -> bytes:
    curve = {name: [0.0, 0.25, 0.5] for name in CURVE}
    task = {"totals": dict.fromkeys(TOTALS, 1.0), "curve": curve}
    results = Results(place() / "study")
    results.write("k", STUDY_RUN, {"mnist": task}, {"versions": {}})
    return (results.path / "units" / "k.json").read_bytes()


def good_outcome_unsealed() -> bytes:
    plain = json.loads(good_outcome())
    del plain["sha256"]
    return json.dumps(plain).encode()


def good_sweep_json() -> bytes:
    point = {"point": "abc", "settings": {"seed": 1}, "seed": 1, "problem": ""}
    plain = {"schema": 1, "scenario": {}, "settings": {"a": [1, 2]}, "scheme": "fedasync", "plan_only": False}
    return json.dumps(plain | {"points": [point, point | {"problem": "no plan"}]}).encode()


def read_sweep(folder: Path) -> object:
    sweep = Sweep(folder)
    return sweep.keys, sweep.failures


def as_parquet(columns: dict[str, Any]) -> bytes:
    buffer = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), buffer)
    return bytes(buffer.getvalue().to_pybytes())


# -- scenarios with their tables ---------------------------------------------------------------------------

TABLES = {
    "devices.csv": "id,battery_J,distance_m\na,5,10\nb,6.5,20\n",
    "gains.csv": "direction,device,index,gain\n"
    + "".join(f"{way},{device},0,1e-7\n" for way in ("uplink", "downlink") for device in "ab"),
    "walk.csv": "device,time_s,distance_m\na,0,10\na,100,20\nb,50,5\n",
}
SCENARIO = """
name = "tiny"  # a comment with [brackets]
[fleet]
devices = 2
table = "devices.csv"
battery_J = { uniform = [1.0, 2.5e3] }
[channel]
kind = "trace"
file = "gains.csv"
[mobility]
kind = "trace"
file = "walk.csv"
[tasks.one]
dataset = "mnist"
slots = 4
window_s = 1_000.0
[tasks."two"]
dataset = 'mnist'
drift.kind = "none"
"""


def world_files(folder: Path) -> None:
    for name, text in (TABLES | {"scenario.toml": SCENARIO}).items():
        (folder / name).write_text(text)


def read_world(folder: Path) -> object:
    return World.resolve(toml.load(folder / "scenario.toml"))


def world_of_parquet(folder: Path) -> object:
    return World.resolve(toml.load(folder / "scenario.toml").in_folder(folder))


def parquet_world(folder: Path) -> None:
    world_files(folder)
    (folder / "scenario.toml").write_text(SCENARIO.replace("devices.csv", "devices.parquet"))


# -- data sets -----------------------------------------------------------------------------------------------


def small_arrays() -> dict[str, np.ndarray]:
    small = dataset(12, 6)
    return {name: getattr(small, name) for name in ("x_train", "y_train", "x_test", "y_test")}


def good_npz(save: Any) -> Callable[[], bytes]:
    def made() -> bytes:
        buffer = io.BytesIO()
        save(buffer, **small_arrays())
        return buffer.getvalue()

    return made


def read_npz(folder: Path) -> object:
    return npz.arrays(io.BytesIO((folder / "d.npz").read_bytes()), "d.npz")


def good_idx() -> bytes:
    return gzip.compress(struct.pack(">4B3I", 0, 0, 8, 3, 2, 4, 4) + bytes(range(32)), mtime=0)


def good_mat() -> bytes:
    from scipy.io import savemat

    buffer = io.BytesIO()
    images = np.arange(2 * 32 * 32 * 3, dtype=np.int64).astype(np.uint8).reshape(32, 32, 3, 2)
    savemat(buffer, {"X": images, "y": np.asarray([[1], [10]], dtype=np.uint8)}, do_compression=True)
    return buffer.getvalue()


def good_model() -> bytes:
    path = place() / "good.safetensors"
    layout = (("a.weight", (3, 4)), ("a.bias", (3,)))
    saving.save(path, np.arange(15, dtype=np.float32), layout, {"task": "one", "aggregation": 4})
    return path.read_bytes()


def resumed_with(folder: Path, content: bytes) -> object:
    """As `resumed`, with other arrays under a checksum that holds: the state was forged with them."""
    checkpoint = RunFolder(folder).checkpoint("fedasync-s0").folder
    state = read_checked(checkpoint / "state.json", "checkpoint")
    (checkpoint / state["arrays"]["file"]).write_bytes(content)
    write_checked(
        checkpoint / "state.json",
        state | {"arrays": {"file": state["arrays"]["file"], "sha256": sha256_of(content)}},
    )
    return resumed(folder)
