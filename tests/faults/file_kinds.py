"""Every kind of file that we read: a small good one, and the reader. Fuzzing and counts of damage go by this table."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import dmafl
from dmafl.calibration.cache import Cache
from dmafl.calibration.measured import read_measured
from dmafl.data import idx, mat
from dmafl.experiments.reproduction.results import Results
from dmafl.experiments.run.folder import RunFolder
from dmafl.experiments.sweep.sweep_folder import Sweep
from dmafl.learning import saving
from faults.good_files import (
    CHECKPOINT,
    PARTS,
    SCENARIO,
    STUDY_RUN,
    TABLES,
    as_parquet,
    content_of,
    copied,
    dumped,
    file_of,
    finished,
    good_idx,
    good_mat,
    good_measured,
    good_model,
    good_npz,
    good_outcome,
    good_outcome_unsealed,
    good_plan,
    good_sweep_json,
    halted,
    kept_by,
    parquet_world,
    read_npz,
    read_sweep,
    read_world,
    resumed,
    resumed_with,
    run_checked,
    sealed,
    world_files,
    world_of_parquet,
)

Seal = Callable[[Any], bytes]


@dataclass(frozen=True)
class Kind:
    """A kind of file: where it is in its folder, a good one, and its reader, which gets the folder's path."""

    file: str
    good: Callable[[], bytes]
    read: Callable[[Path], object]
    prepare: Callable[[Path], None] = lambda folder: None
    """Puts what belongs with the file into a new folder."""
    parse: Callable[[bytes], Any] | None = None
    """The JSON values of a good file, for changes of single values."""
    seal: Seal = lambda plain: dumped(plain)
    """The file of changed JSON values, with a checksum that holds."""


READERS: dict[str, Kind] = {
    "scenario": Kind("scenario.toml", SCENARIO.encode, read_world, world_files),
    "device table, CSV": Kind("devices.csv", TABLES["devices.csv"].encode, read_world, world_files),
    "device table, Parquet": Kind(
        "devices.parquet",
        lambda: as_parquet({"id": ["a", "b"], "battery_J": [5.5, 6.5], "distance_m": [10, 20]}),
        world_of_parquet,
        parquet_world,
    ),
    "channel trace": Kind("gains.csv", TABLES["gains.csv"].encode, read_world, world_files),
    "mobility trace": Kind("walk.csv", TABLES["walk.csv"].encode, read_world, world_files),
    "data set": Kind("d.npz", good_npz(np.savez), read_npz),
    "data set, compressed": Kind("d.npz", good_npz(np.savez_compressed), read_npz),
    "idx": Kind("d.gz", good_idx, lambda folder: idx.read_gz(folder / "d.gz", 3)),
    "mat": Kind("d.mat", good_mat, lambda folder: mat.read(folder / "d.mat")),
    "plan.json": Kind(
        "plan.json",
        good_plan(".json"),
        lambda folder: dmafl.read_plan(folder / "plan.json"),
        parse=json.loads,
    ),
    "plan.parquet": Kind(
        "plan.parquet", good_plan(".parquet"), lambda folder: dmafl.read_plan(folder / "plan.parquet")
    ),
    "measured.json": Kind(
        "measured.json",
        good_measured,
        lambda folder: read_measured(folder / "measured.json"),
        parse=json.loads,
    ),
    "manifest": Kind(
        "manifest.json",
        lambda: (finished() / "manifest.json").read_bytes(),
        run_checked,
        copied(finished),
        parse=json.loads,
    ),
    "metrics": Kind(
        "metrics.parquet",
        file_of(finished, "metrics.parquet"),
        lambda folder: RunFolder(folder).read_table("metrics"),
    ),
    "periods": Kind(
        "periods.parquet",
        file_of(finished, "periods.parquet"),
        lambda folder: RunFolder(folder).read_table("periods"),
    ),
    "running": Kind(
        "running.json",
        file_of(finished, "running.json"),
        lambda folder: RunFolder(folder).read_running(),
        parse=json.loads,
    ),
    "running part": Kind(
        f"{PARTS}/running.json",
        file_of(halted, f"{PARTS}/running.json"),
        lambda folder: RunFolder(folder).read_running(),
        parse=content_of,
        seal=sealed,
    ),
    "part": Kind(
        f"{PARTS}/periods-000000.parquet",
        file_of(halted, f"{PARTS}/periods-000000.parquet"),
        resumed,
        copied(halted),
    ),
    "part, while it goes": Kind(
        f"{PARTS}/metrics-000000.parquet",
        file_of(halted, f"{PARTS}/metrics-000000.parquet"),
        lambda folder: RunFolder(folder).read_table("metrics"),
    ),
    "checkpoint": Kind(
        f"{CHECKPOINT}/state.json",
        file_of(halted, f"{CHECKPOINT}/state.json"),
        resumed,
        copied(halted),
        parse=content_of,
        seal=sealed,
    ),
    "checkpoint arrays": Kind(
        f"{CHECKPOINT}/arrays.npz",
        file_of(halted, f"{CHECKPOINT}/arrays-*.npz"),
        lambda folder: resumed_with(folder, (folder / f"{CHECKPOINT}/arrays.npz").read_bytes()),
        copied(halted),
    ),
    "model": Kind("m.safetensors", good_model, lambda folder: saving.load(folder / "m.safetensors")),
    "cache": Kind(
        "whole/k.json",
        kept_by(lambda kept: kept.write({"a": [1, 2.5], "b": None}, "whole", "k"), "k.json"),
        lambda folder: Cache(folder).read("whole", "k"),
        parse=content_of,
        seal=sealed,
    ),
    "cache, model": Kind(
        "m.model",
        kept_by(lambda kept: kept.write_model(np.arange(5, dtype=np.float32), "m"), "m.model"),
        lambda folder: Cache(folder).read_model("m"),
    ),
    "outcome": Kind(
        "units/k.json",
        good_outcome,
        lambda folder: Results(folder).read("k", STUDY_RUN),
        parse=json.loads,
    ),
    "outcome without checksum": Kind(
        "units/k.json",
        good_outcome_unsealed,
        lambda folder: Results(folder).read("k", STUDY_RUN),
        parse=json.loads,
    ),
    "sweep.json": Kind("sweep.json", good_sweep_json, read_sweep, parse=json.loads),
    "sweep.parquet": Kind(
        "sweep.parquet",
        lambda: as_parquet({"seed": [1, 2], "task": ["a", "b"], "loss": [0.5, None]}),
        lambda folder: Sweep(folder).table,
    ),
}
