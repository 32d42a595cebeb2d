"""Rules of the files themselves: the manifest, checksums, tables that can be read, cells that can be."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from dmafl.base.errors import BadInput
from dmafl.base.files import read_bytes
from dmafl.experiments.run.file_names import measured_file, plan_file
from dmafl.experiments.run.folder import RUNNING, TABLES
from dmafl.experiments.run.statuses import RunStatus
from dmafl.experiments.run.verification.findings import Finding, named
from dmafl.experiments.run.verification.opened import Opened

FOLDERS = ("models", "plans", "measured")
"""Folders that hold outputs and nothing else."""
OTHERS = ("manifest.json", "accuracy.png", "quality.png", "report.html", "parts", "checkpoint", "tensorboard")
"""Other files that may be beside the outputs; all further ones are the user's own, and only mentioned."""


def manifest(opened: Opened) -> Finding:
    """The manifest has the checksum of its own content, and what it says fits together."""
    content, wrong = opened.manifest, []
    if content.sha256 != content.checksum:
        wrong.append("manifest.json: its sha256 is that of another content")
    for seed, world in opened.worlds.items():
        if world.scenario != opened.scenario.model_copy(update={"seed": seed}):
            wrong.append(f"manifest.json: the world of seed {seed} is one of another scenario")
    statuses = [record.status for record in content.scheme_runs.values()]
    if content.status is RunStatus.FINISHED and not all(status.finished for status in statuses):
        wrong.append("manifest.json: finished, but not all of its scheme runs are")
    if content.status is RunStatus.FAILED and not any(status.failed for status in statuses):
        wrong.append("manifest.json: failed, but none of its scheme runs has")
    if content.status is RunStatus.FAILED and any(status.waiting for status in statuses):
        wrong.append("manifest.json: ended, but scheme runs wait")
    return named(wrong)


def expected(opened: Opened) -> set[str]:
    """Names of the outputs that there must be by now."""
    names = {measured_file(seed) for seed in opened.manifest.measured}
    names |= set(map(plan_file, opened.plan_names))
    names |= models(opened)
    if opened.ended:
        names |= {f"{name}.parquet" for name in TABLES} | {RUNNING}
    return names


def models(opened: Opened, finished: bool = True) -> set[str]:
    """Names of the models of scheme runs that have finished, or of all scheme runs."""
    return {
        name.model_file(task)
        for name in opened.manifest.run_names
        if opened.manifest.scheme_run(name).status.finished or not finished
        for task in opened.scenario.tasks
    }


def files(opened: Opened) -> Finding:
    """Every output is there with the checksum of the manifest, and no other lies among them."""
    listed = opened.manifest.files
    must = expected(opened)
    wrong = [f"{name}: no checksum in the manifest" for name in sorted(must - set(listed))]
    wrong += [f"{name}: no output of this run" for name in sorted(set(listed) - _possible(opened))]
    for name, checksum in listed.items():
        present = _checksum(opened.path / name)
        if present != checksum:
            wrong.append(
                f"{name}: {'missing' if present is None else 'another checksum than in the manifest'}"
            )
    there = _outputs(opened.path)
    for name in sorted(there - set(listed)):
        if opened.ended or name not in _possible(opened):
            wrong.append(f"{name}: not in the manifest")
    top = {path.name for path in opened.path.iterdir() if not path.name.startswith(".")}
    known = {*OTHERS, *FOLDERS, *(f"{name}.parquet" for name in TABLES), RUNNING}
    odd = sorted(top - known)
    note = (
        f"Not ours, and not looked at: {', '.join(odd[:5])}{' ...' if len(odd) > 5 else ''}." if odd else ""
    )
    return named(wrong, note)


def _possible(opened: Opened) -> set[str]:
    """Outputs that a run like this one may have; during a run, the manifest may not list all of them yet."""
    manifest = opened.manifest
    names = set(map(plan_file, manifest.run_names)) if opened.plan_names or not opened.ended else set()
    names |= {plan_file("scheduled")} if manifest.plan_sha256 is not None else set()
    tables = {f"{name}.parquet" for name in TABLES} | {RUNNING}
    return expected(opened) | names | models(opened, finished=opened.ended) | tables


def _outputs(folder: Path) -> set[str]:
    """Names of all files where outputs belong."""
    present = {
        name for name in (*(f"{table}.parquet" for table in TABLES), RUNNING) if (folder / name).exists()
    }
    for inside in FOLDERS:
        if (folder / inside).is_dir():
            present |= {
                f"{inside}/{path.relative_to(folder / inside).as_posix()}"
                for path in (folder / inside).rglob("*")
                if not path.is_dir() and not (path.name.startswith(".") and path.name.endswith(".part"))
            }
    return present


def _checksum(path: Path) -> str | None:
    try:
        return hashlib.sha256(read_bytes(path, "output")).hexdigest()
    except (BadInput, OSError):
        return None


def tables(opened: Opened) -> Finding:
    """Both tables can be read, have the columns of the format, and scheme runs in the order of the manifest."""
    wrong = [f"{name}: {why}" for name, why in opened.unreadable.items() if name.endswith(".parquet")]
    if opened.ended:
        order = {(name.scheme, name.seed): k for k, name in enumerate(opened.manifest.run_names)}
        for name, cells in opened.cells.items():
            keys = zip(cells.columns["scheme"].tolist(), cells.columns["seed"].tolist(), strict=True)
            numbers = np.asarray([order.get(key, -1) for key in keys], dtype=np.int64)
            numbers = numbers[numbers >= 0]
            if (np.diff(numbers) < 0).any():
                wrong.append(f"{name}.parquet: rows of different scheme runs in disorder")
    return named(wrong)


def values(opened: Opened) -> Finding:
    """Every cell has a name of this run, a finite number, or a count that can be."""
    wrong = []
    for name, cells in opened.cells.items():
        for problem, broken in cells.wrong:
            rows = np.flatnonzero(broken)
            more = f" and {len(rows) - 1:,} more" if len(rows) > 1 else ""
            wrong.append(f"{name}.parquet row {rows[0]}{more}: {problem}")
    return named(wrong)
