"""Files that were changed by somebody who computes their checksums anew, where their format has any.

Nothing of the package is used, so that tests mean the same on commits before there were checksums.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Plain = dict[str, Any]
Change = Callable[[Any], Any]
COLUMNS = (
    *("task", "device", "version", "slot", "steps", "batch", "frequency_Hz", "start_s"),
    *("idle_s", "download_s", "compute_s", "upload_s", "end_s", "uplink_J", "compute_J", "downlink_J"),
)
"""Fields of a job, in the order in which the checksum of a plan has them."""


def changed_rows(run: Path, table: str, change: Callable[[list[Plain]], Any]) -> None:
    """Change rows of `metrics` or `periods`; `change` may give others."""
    path = run / f"{table}.parquet"
    found = pq.read_table(path)
    rows = found.to_pylist()
    given = change(rows)
    write_table(run, table, pa.Table.from_pylist(rows if given is None else given, schema=found.schema))


def write_table(run: Path, table: str, rows: pa.Table) -> None:
    """Write `metrics` or `periods`."""
    pq.write_table(rows, run / f"{table}.parquet")
    changed_manifest(run, lambda manifest: None)


def changed_manifest(run: Path, change: Change) -> None:
    """Change the manifest; the checksums of outputs and its own fit then."""
    path = run / "manifest.json"
    manifest = json.loads(path.read_text())
    for name in manifest.get("files", {}):
        if (run / name).exists():
            manifest["files"][name] = sha256((run / name).read_bytes()).hexdigest()
    change(manifest)
    if "sha256" in manifest:
        manifest["sha256"] = sha256(canonical(without_checksum(manifest))).hexdigest()
    path.write_text(json.dumps(manifest))


def changed_state(path: Path, change: Change) -> None:
    """Change what a checkpoint says, and nothing else: its checksum stays, where it has one, as after damage."""
    whole = json.loads(path.read_text())
    content = whole.get("content", whole)
    before = json.dumps(content)
    change(content)
    assert json.dumps(content) != before, "it said so already"
    if content is whole:
        path.write_text(json.dumps(whole))
    else:
        body = json.dumps(content, separators=(",", ":"))
        path.write_text(f'{{"sha256": "{whole["sha256"]}",\n"content": {body}}}\n')


def changed_plan(path: Path, change: Change, to: Path, odd: str = "") -> None:
    """Change a plan in JSON, and let its checksum fit; `odd` takes the place of the text "@", as JSON has no other way
    to say such a number."""
    plan = json.loads(path.read_text())
    change(plan)
    if "sha256" in plan:
        names = list(plan["scenario"]["settings"]["tasks"])
        jobs = [{**job, "task": names.index(job["task"])} for job in plan["jobs"]]
        columns = [np.asarray([job[name] for job in jobs], dtype="<f8").tobytes() for name in COLUMNS]
        header = {name: value for name, value in without_checksum(plan).items() if name != "jobs"}
        plan["sha256"] = sha256(canonical(header) + b"".join(columns)).hexdigest()
    to.write_text(json.dumps(plan).replace('"@"', odd or '"@"'))


def without_checksum(plain: Plain) -> Plain:
    """All fields but the checksum."""
    return {name: value for name, value in plain.items() if name != "sha256"}


def canonical(plain: Plain) -> bytes:
    """The spelling that checksums are taken of."""
    return json.dumps(plain, allow_nan=False, sort_keys=True, separators=(",", ":")).encode()
