"""Runs whose files were changed by somebody who knows that checksums must fit, and computes them anew."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import dmafl
from dmafl.experiments.run.manifest import manifest_checksum
from dmafl.simulation.records import METRICS, PERIODS

Rows = list[dict[str, Any]]
SCHEMAS = {"metrics": METRICS, "periods": PERIODS}


def failed(path: Path) -> set[str]:
    """Names of the checks that do not hold."""
    return {check.name for check in dmafl.verify_run(path) if not check.ok}


def copied(run: dmafl.Run, to: Path) -> Path:
    return Path(shutil.copytree(run.path, to))


def seal(path: Path) -> Path:
    """Give the manifest the checksums of the files as they are now, and its own."""
    manifest = json.loads((path / "manifest.json").read_text())
    for name in manifest["files"]:
        if (path / name).exists():
            manifest["files"][name] = sha256((path / name).read_bytes()).hexdigest()
    return write_manifest(path, manifest)


def write_manifest(path: Path, manifest: dict[str, Any]) -> Path:
    """Write a manifest with the checksum of its content."""
    manifest["sha256"] = manifest_checksum(manifest)
    (path / "manifest.json").write_text(json.dumps(manifest))
    return path


def write_rows(path: Path, table: str, rows: Rows) -> Path:
    """Write a table, with checksums that fit."""
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMAS[table]), path / f"{table}.parquet")
    return seal(path)


def changed(run: dmafl.Run, to: Path, table: str, change: Callable[[Rows], Any]) -> Path:
    """A copy of the run with some rows changed, and checksums that fit."""
    path = copied(run, to)
    rows = pq.read_table(path / f"{table}.parquet").to_pylist()
    given = change(rows)
    return write_rows(path, table, given if given is not None else rows)


def changed_manifest(run: dmafl.Run, to: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    """A copy of the run with something else in its manifest, and a checksum that fits."""
    path = copied(run, to)
    manifest = json.loads((path / "manifest.json").read_text())
    change(manifest)
    return write_manifest(path, manifest)


def update(row: dict[str, Any], **values: Any) -> None:
    row.update(values)
