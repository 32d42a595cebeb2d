"""The folder of a run: manifest, part files and checkpoints while it goes, Parquet and models when it is done."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dmafl.errors import ShownAsIs, bad_input
from dmafl.files import (
    canonical_json,
    read_bytes,
    read_json,
    replacing,
    sha256_of,
    write_bytes,
    write_json,
)
from dmafl.measuring.measured import Measured, write_measured
from dmafl.simulation.records import METRICS, PERIODS

SCHEMA = 1
RUNNING, RUNNING_SCHEMA = "running.json", 1
CHECKPOINT_SCHEMA = 2
"""Raised when the state of a unit has other entries than before."""
TABLES = {"metrics": METRICS, "periods": PERIODS}


class RunFolder:
    """A run's files. Every file appears whole or not at all."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def manifest_path(self) -> Path:
        """What the run is, and how far it has come."""
        return self.path / "manifest.json"

    def exists(self) -> bool:
        """Whether there is a run in the folder."""
        return self.manifest_path.exists()

    def empty(self) -> bool:
        """Whether there is nothing but what a run leaves that was killed before it began."""
        if not self.path.exists():
            return True
        return self.path.is_dir() and all(_is_left_over(one) for one in self.path.iterdir())

    def create(self) -> None:
        """Make the folder; refuses one that holds something else."""
        if not self.empty():
            raise bad_input(
                str(self.path),
                "must be a new or empty folder",
                ShownAsIs("a run" if self.exists() else "something else"),
                "Use --resume to go on with a run, or name another folder.",
            )
        self.path.mkdir(parents=True, exist_ok=True)

    def clean(self) -> None:
        """Remove half-written files that a killed process has left."""
        for left_over in self.path.rglob(".*.part"):
            left_over.unlink()

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        """Save the manifest."""
        write_json(self.manifest_path, manifest)

    def read_manifest(self) -> dict[str, Any]:
        """The manifest of a run in this folder."""
        if not self.path.is_dir():
            raise bad_input(
                str(self.path), "must be the folder of a run", ShownAsIs("no such folder"), "Check the path."
            )
        manifest = read_json(self.manifest_path, "run manifest")
        if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
            found = manifest.get("schema") if isinstance(manifest, dict) else None
            raise bad_input(
                f"{self.manifest_path}: schema",
                f"must be {SCHEMA}, the version of runs this dmafl reads",
                found,
                "Use the dmafl that wrote the run, or run again.",
            )
        _check_manifest(manifest, self.manifest_path)
        return manifest

    def write_measured(self, seed: int, measured: Measured) -> None:
        """Save what was measured of a seed."""
        write_measured(measured, self._measured(seed))

    def read_measured(self, manifest: dict[str, Any]) -> dict[int, Measured]:
        """What was measured, by seed; refuses a file that is not the one the run was begun with."""
        found = {}
        for seed, checksum in manifest.get("measured", {}).items():
            path = self._measured(int(seed))
            given = read_json(path, "measured constants")
            own = sha256_of(canonical_json(given))
            if own != checksum:
                raise bad_input(
                    str(path),
                    f"must have the checksum {checksum[:12]} of the manifest",
                    ShownAsIs(own[:12]),
                    "The file was changed: put the old one back, or run again.",
                )
            found[int(seed)] = Measured.from_plain(given, str(path))
        return found

    def _measured(self, seed: int) -> Path:
        return self.path / "measured" / f"s{seed}.json"

    # -- while it goes --------------------------------------------------------------------------------

    def write_parts(self, unit: str, number: int, tables: tuple[pa.Table, pa.Table]) -> None:
        """Save the rows since the last part."""
        for name, table in zip(TABLES, tables, strict=True):
            path = self._part(unit, name, number)
            with replacing(path) as part:
                pq.write_table(table, part)

    def write_checkpoint(self, unit: str, plain: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Save a unit's state: arrays first, then the state that names them, then the old arrays go."""
        folder = self._checkpoint(unit)
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)  # type: ignore[arg-type]
        name = f"arrays-{plain['parts']:06d}.npz"
        write_bytes(folder / name, buffer.getvalue())
        state = {"schema": CHECKPOINT_SCHEMA, **plain, "arrays": name}
        write_bytes(folder / "state.json", json.dumps(state, allow_nan=False).encode())
        for old in folder.glob("arrays-*.npz"):
            if old.name != name:
                old.unlink()

    def write_running(self, unit: str, estimates: dict[str, Any]) -> None:
        """Save a unit's running estimates, by task."""
        write_json(self.path / "parts" / unit / RUNNING, estimates)

    def read_checkpoint(self, unit: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]] | None:
        """The state of a unit when it was last saved; parts written after that are removed."""
        folder = self._checkpoint(unit)
        state = folder / "state.json"
        parts = 0
        found = None
        if state.exists():
            plain = read_json(state, "checkpoint")
            try:
                if plain["schema"] != CHECKPOINT_SCHEMA:
                    raise ValueError(f"schema {plain['schema']}, of another version")
                content = read_bytes(folder / plain["arrays"], "checkpoint")
                with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                    found = plain, {name: arrays[name] for name in arrays.files}
                parts = int(plain["parts"])
                _ = plain["unit"]["server"], plain["unit"]["clock"]
            except (KeyError, TypeError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
                raise bad_input(
                    str(folder),
                    "must be a whole checkpoint",
                    ShownAsIs(f"{type(error).__name__}: {error}"[:150]),
                    f"Remove the folder to run {unit} from its start, or start the run anew.",
                ) from None
        for name in TABLES:
            for path in (self.path / "parts" / unit).glob(f"{name}-*.parquet"):
                if int(path.stem.rpartition("-")[2]) >= parts:
                    path.unlink()
        return found

    # -- when it is done ------------------------------------------------------------------------------

    def compact(self, units: list[str]) -> None:
        """Put the parts of all units together, in their order."""
        for name, schema in TABLES.items():
            tables = [
                pq.read_table(path, schema=schema)
                for unit in units
                for path in sorted((self.path / "parts" / unit).glob(f"{name}-*.parquet"))
            ]
            # One chunk, so that the file does not depend on how often the run was saved.
            whole = pa.concat_tables(tables).combine_chunks() if tables else schema.empty_table()
            self.write_table(name, whole)
        write_json(self.path / RUNNING, {"schema": RUNNING_SCHEMA, "units": self._running_parts(units)})

    def write_table(self, name: str, rows: pa.Table) -> None:
        """Save `metrics` or `periods` of the whole run."""
        with replacing(self.path / f"{name}.parquet") as part:
            pq.write_table(rows, part, compression="zstd")

    def clear_parts(self) -> None:
        """Remove what is only needed while the run goes."""
        shutil.rmtree(self.path / "parts", ignore_errors=True)
        shutil.rmtree(self.path / "checkpoint", ignore_errors=True)

    def read_table(self, name: str) -> pa.Table:
        """`metrics` or `periods`, complete or as far as they are written."""
        path = self.path / f"{name}.parquet"
        try:
            if path.exists():
                table = pq.read_table(pa.BufferReader(read_bytes(path, "run")))
                if not table.schema.equals(TABLES[name]):
                    raise ValueError(f"columns {', '.join(table.column_names)[:80]}")
                return table
            parts = sorted((self.path / "parts").glob(f"*/{name}-*.parquet"))
            tables = [pq.read_table(part, schema=TABLES[name]) for part in parts]
            return pa.concat_tables(tables) if tables else TABLES[name].empty_table()
        except (pa.ArrowException, ValueError, OSError) as error:
            raise bad_input(
                str(path),
                f"must be the {name} of a run",
                ShownAsIs((str(error).splitlines() or ["unreadable"])[0][:150]),
                "The file is damaged or not ours: run again.",
            ) from None

    def read_running(self) -> dict[str, Any]:
        """The running estimates: unit -> task -> values, the last ones or as far as they are."""
        path = self.path / RUNNING
        if not path.exists():
            return self._running_parts([one.name for one in sorted((self.path / "parts").glob("*"))])
        found = read_json(path, "running estimates")
        if not isinstance(found, dict) or found.get("schema") != RUNNING_SCHEMA:
            raise bad_input(
                str(path),
                f"must be running estimates of schema {RUNNING_SCHEMA}",
                ShownAsIs("something else"),
                "Run again with this version.",
            )
        units: dict[str, Any] = found["units"]
        return units

    def _running_parts(self, units: list[str]) -> dict[str, Any]:
        paths = {unit: self.path / "parts" / unit / RUNNING for unit in units}
        return {unit: read_json(path, "running estimates") for unit, path in paths.items() if path.exists()}

    def _part(self, unit: str, name: str, number: int) -> Path:
        return self.path / "parts" / unit / f"{name}-{number:06d}.parquet"

    def _checkpoint(self, unit: str) -> Path:
        return self.path / "checkpoint" / unit


def checksum_of(measured: Measured) -> str:
    """SHA-256 of measured constants as a file has them."""
    return sha256_of(canonical_json(measured.plain()))


def _is_left_over(path: Path) -> bool:
    return path.name in ("plans", "measured") or (path.name.startswith(".") and path.name.endswith(".part"))


def _check_manifest(manifest: dict[str, Any], path: Path) -> None:
    """Refuse a manifest that does not say what it must."""
    kinds = {
        "status": str,
        "scenario": dict,
        "worlds": dict,
        "schemes": list,
        "seeds": list,
        "data": dict,
        "units": dict,
    }
    for name, kind in kinds.items():
        if not isinstance(manifest.get(name), kind):
            raise bad_input(
                f"{path}: {name}",
                f"must be a {kind.__name__}",
                manifest.get(name),
                "The file is damaged: run again.",
            )
    for seed in manifest["seeds"]:
        if not isinstance(seed, int) or str(seed) not in manifest["worlds"]:
            raise bad_input(
                f"{path}: seeds",
                "must be whole numbers with a world each",
                seed,
                "The file is damaged: run again.",
            )
        for scheme in manifest["schemes"]:
            unit = manifest["units"].get(f"{scheme}-s{seed}")
            if not isinstance(unit, dict) or "status" not in unit:
                raise bad_input(
                    f"{path}: units",
                    "must have an entry with a status for every scheme and seed",
                    f"{scheme}-s{seed}",
                    "The file is damaged: run again.",
                )
