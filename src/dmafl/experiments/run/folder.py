"""The folder of a run: manifest, part files and checkpoints while it goes, Parquet and models when it is done."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.files import (
    LOCK,
    canonical_json,
    check_sha256,
    json_bytes,
    locked,
    parse_parquet,
    read_bytes,
    read_checked,
    read_json,
    read_parquet,
    sha256_of,
    write_bytes,
    write_checked,
    write_json,
)
from dmafl.calibration.measured import Measured
from dmafl.experiments.run.checkpoint import Arrays, Checkpoint
from dmafl.experiments.run.file_names import measured_file, plan_file
from dmafl.experiments.run.manifest import Manifest
from dmafl.experiments.run.running import check_running
from dmafl.experiments.run.statuses import RunStatus
from dmafl.schedule.plan import Plan
from dmafl.schedule.plan_files import PlanFile, plan_bytes, read_plan
from dmafl.simulation.records import METRICS, PERIODS

RUNNING, RUNNING_SCHEMA = "running.json", 1
TABLES = {"metrics": METRICS, "periods": PERIODS}
_AGAIN = "The file is damaged or not ours: run again."


class RunFolder:
    """A run's files. Every file appears whole or not at all, and the manifest has the checksum of every output."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sums: dict[str, dict[str, str]] = {}
        """Name of a scheme run -> name of a part file -> its checksum."""
        self.checksums: dict[str, str] = {}
        """SHA-256 of the outputs written so far, by their names relative to the folder."""

    @property
    def manifest_path(self) -> Path:
        """What the run is, and how far it has come."""
        return self.path / "manifest.json"

    def exists(self) -> bool:
        """Whether there is a run in the folder."""
        return self.manifest_path.exists()

    def empty(self) -> bool:
        """Whether the folder holds only files of a run that was killed before it began."""
        if not self.path.exists():
            return True
        return self.path.is_dir() and all(map(_is_left_over, self.path.iterdir()))

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

    def write_output(self, name: str, content: bytes) -> None:
        """Save an output of the run; the next manifest has its checksum."""
        write_bytes(self.path / name, content)
        self.checksums[name] = sha256_of(content)

    def has_leftovers(self) -> bool:
        """Whether there is something that `clean` and `clear_parts` remove."""
        return any((self.path / name).exists() for name in ("parts", "checkpoint")) or any(
            self.path.rglob(".*.part")
        )

    def tidy(self) -> None:
        """Remove temporary files of a run that is done, if there are any."""
        if self.has_leftovers():
            with locked(self.path):
                self.clean()
                self.clear_parts()

    def write_manifest(self, manifest: Manifest) -> Manifest:
        """Save the manifest, with the checksums of all outputs by now and one of its own; as it was written."""
        written = manifest.sealed(self.checksums)
        write_json(self.manifest_path, written.plain())
        return written

    def go_on(self, manifest: Manifest) -> Manifest:
        """Resume a run that has not finished; tables that were joined when it last ended are joined again."""
        whole = [f"{name}.parquet" for name in TABLES] + [RUNNING]
        self.checksums = {name: checksum for name, checksum in manifest.files.items() if name not in whole}
        written = self.write_manifest(replace(manifest, status=RunStatus.RUNNING))
        for name in whole:
            (self.path / name).unlink(missing_ok=True)
        return written

    def read_manifest(self) -> Manifest:
        """The manifest of a run in this folder; `verify` and `--resume` check its checksum."""
        if not self.path.is_dir():
            raise bad_input(
                str(self.path), "must be the folder of a run", ShownAsIs("no such folder"), "Check the path."
            )
        return Manifest.from_plain(read_json(self.manifest_path, "run manifest"), self.manifest_path)

    def write_measured(self, seed: int, measured: Measured) -> None:
        """Save what was measured of a seed."""
        self.write_output(measured_file(seed), json_bytes(measured.plain()))

    def write_plan(self, name: str, plan: Plan) -> None:
        """Save a plan below `plans`."""
        self.write_output(plan_file(name), plan_bytes(plan))

    def read_plan(self, name: str) -> PlanFile | None:
        """The plan called `name`, if it is there; refuses one that was changed since it was written."""
        path, known = self.path / plan_file(name), self.checksums.get(plan_file(name))
        if not path.exists():
            return None
        present = sha256_of(read_bytes(path, "plan"))
        if known is not None and present != known:
            raise bad_input(
                str(path),
                f"must have the checksum {known[:12]} of the manifest",
                ShownAsIs(present[:12]),
                "The file was changed: put the old one back, or run again.",
            )
        self.checksums[plan_file(name)] = present
        return read_plan(path)

    def read_measured(self, checksums: Mapping[int, str]) -> dict[int, Measured]:
        """What was measured of the seeds of `checksums`; refuses files that are not those the run was begun with."""
        measured = {}
        for seed, checksum in checksums.items():
            path = self.path / measured_file(seed)
            given = read_json(path, "measured constants")
            present = sha256_of(canonical_json(given))
            if present != checksum:
                raise bad_input(
                    str(path),
                    f"must have the checksum {checksum[:12]} of the manifest",
                    ShownAsIs(present[:12]),
                    "The file was changed: put the old one back, or run again.",
                )
            measured[seed] = Measured.from_plain(given, str(path))
        return measured

    # -- while it goes --------------------------------------------------------------------------------

    def write_parts(self, scheme_run: str, number: int, tables: tuple[pa.Table, pa.Table]) -> None:
        """Save the rows since the last part; the next checkpoint notes their checksums."""
        for name, table in zip(TABLES, tables, strict=True):
            path = self._part(scheme_run, name, number)
            buffer = pa.BufferOutputStream()
            pq.write_table(table, buffer)
            content = buffer.getvalue().to_pybytes()
            write_bytes(path, content)
            self._sums.setdefault(scheme_run, {})[path.name] = sha256_of(content)

    def write_checkpoint(self, scheme_run: str, plain: dict[str, Any], arrays: Arrays) -> None:
        """Save a scheme run's state, which belongs to the parts written so far."""
        self.checkpoint(scheme_run).write(plain, arrays, self._sums.get(scheme_run, {}))

    def write_running(self, scheme_run: str, estimates: dict[str, Any]) -> None:
        """Save a scheme run's running estimates, by task."""
        write_checked(self.path / "parts" / scheme_run / RUNNING, estimates)

    def read_checkpoint(self, scheme_run: str) -> tuple[dict[str, Any], Arrays] | None:
        """The state of a scheme run when it was last saved; its parts are as they were, and later ones are removed."""
        saved = self.checkpoint(scheme_run).read()
        sums: dict[str, str] = {} if saved is None else saved[0]["part_files"]
        for name in sums:
            self._read_part(self.path / "parts" / scheme_run / Path(name).name, sums)
        for name in TABLES:
            for path in (self.path / "parts" / scheme_run).glob(f"{name}-*.parquet"):
                if path.name not in sums:
                    path.unlink()
        self._sums[scheme_run] = dict(sums)
        return saved

    def checkpoint(self, scheme_run: str) -> Checkpoint:
        """Where the state of a scheme run is, or will be."""
        return Checkpoint(self.path / "checkpoint" / scheme_run, scheme_run)

    # -- when it is done ------------------------------------------------------------------------------

    def compact(self, scheme_runs: list[str]) -> None:
        """Put the parts of all scheme runs together, in their order."""
        for name, schema in TABLES.items():
            tables = [
                self._read_part(path, self._sums_of(scheme_run))
                for scheme_run in scheme_runs
                for path in sorted((self.path / "parts" / scheme_run).glob(f"{name}-*.parquet"))
            ]
            # One chunk, so that the file does not depend on how often the run was saved.
            whole = pa.concat_tables(tables).combine_chunks() if tables else schema.empty_table()
            self.write_table(name, whole)
        self.write_output(
            RUNNING, json_bytes({"schema": RUNNING_SCHEMA, "units": self._running_parts(scheme_runs)})
        )

    def write_table(self, name: str, rows: pa.Table) -> None:
        """Save `metrics` or `periods` of the whole run."""
        sink = pa.BufferOutputStream()
        pq.write_table(rows, sink, compression="zstd")
        self.write_output(f"{name}.parquet", bytes(sink.getvalue()))

    def clear_parts(self) -> None:
        """Remove what is only needed while the run goes."""
        shutil.rmtree(self.path / "parts", ignore_errors=True)
        shutil.rmtree(self.path / "checkpoint", ignore_errors=True)

    def parts(self) -> list[tuple[str, str]]:
        """Scheme run and number of every part that all tables have; tables read with one list belong together."""
        of_tables = [
            {
                (path.parent.name, path.stem.rpartition("-")[2])
                for path in self.path.glob(f"parts/*/{name}-*.parquet")
            }
            for name in TABLES
        ]
        return sorted(set.intersection(*of_tables))

    def read_table(self, name: str, parts: list[tuple[str, str]] | None = None) -> pa.Table:
        """`metrics` or `periods`, complete or as far as they are written; where they go on, as far as `parts`."""
        path = self.path / f"{name}.parquet"
        if path.exists():
            return read_parquet(path, f"table of {name}", TABLES[name], remedy=_AGAIN)
        if self.exists() and path.name in self.read_manifest().files:
            raise bad_input(
                str(path), "must be there, for the manifest names it", ShownAsIs("no file"), _AGAIN
            )
        files = [
            self.path / "parts" / scheme_run / f"{name}-{number}.parquet"
            for scheme_run, number in (self.parts() if parts is None else parts)
        ]
        tables = [read_parquet(file, f"part of {name}", TABLES[name], remedy=_AGAIN) for file in files]
        return pa.concat_tables(tables) if tables else TABLES[name].empty_table()

    def read_running(self) -> dict[str, Any]:
        """The running estimates: scheme run -> task -> values, the last ones or as far as they are."""
        path = self.path / RUNNING
        if not path.exists():
            return self._running_parts([folder.name for folder in sorted((self.path / "parts").glob("*"))])
        content = read_json(path, "running estimates")
        if not isinstance(content, dict) or content.get("schema") != RUNNING_SCHEMA:
            raise bad_input(
                str(path),
                f"must be running estimates of schema {RUNNING_SCHEMA}",
                ShownAsIs("something else"),
                "Run again with this version.",
            )
        scheme_runs = content.get("units")
        if not isinstance(scheme_runs, dict):
            raise bad_input(
                str(path), "must have the estimates of every scheme run", scheme_runs, "Run again."
            )
        return {scheme_run: check_running(tasks, path) for scheme_run, tasks in scheme_runs.items()}

    def _running_parts(self, scheme_runs: list[str]) -> dict[str, Any]:
        paths = {scheme_run: self.path / "parts" / scheme_run / RUNNING for scheme_run in scheme_runs}
        return {
            scheme_run: check_running(
                read_checked(path, "running estimates", self._from_start(scheme_run)), path
            )
            for scheme_run, path in paths.items()
            if path.exists()
        }

    def _part(self, scheme_run: str, name: str, number: int) -> Path:
        return self.path / "parts" / scheme_run / f"{name}-{number:06d}.parquet"

    def _read_part(self, path: Path, sums: Mapping[str, str]) -> pa.Table:
        """The rows of a part file, which must be the one that was written."""
        scheme_run, name = path.parent.name, path.stem.rpartition("-")[0]
        remedy = self._from_start(scheme_run)
        what = f"part of {name}"
        content = read_bytes(path, what)
        if path.name in sums:
            check_sha256(content, sums[path.name], str(path), what, remedy)
        return parse_parquet(content, str(path), what, TABLES.get(name), remedy=remedy)

    def _from_start(self, scheme_run: str) -> str:
        return f"Remove the folder {self.checkpoint(scheme_run).folder} to run {scheme_run} from its start."

    def _sums_of(self, scheme_run: str) -> Mapping[str, str]:
        """Checksums of a scheme run's part files, as noted by this process or by its last checkpoint."""
        if scheme_run not in self._sums:
            plain = self.checkpoint(scheme_run).read_plain()
            self._sums[scheme_run] = {} if plain is None else plain["part_files"]
        return self._sums[scheme_run]


def checksum_of(measured: Measured) -> str:
    """SHA-256 of measured constants as a file has them."""
    return sha256_of(canonical_json(measured.plain()))


def _is_left_over(path: Path) -> bool:
    return path.name in ("plans", "measured", LOCK) or (
        path.name.startswith(".") and path.name.endswith(".part")
    )
