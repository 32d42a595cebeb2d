"""Commands on Ray and on jobs of submitit, for tests that have both; Ray in a network namespace of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from dmafl.base.files import LOCK
from support.patience import ended, wait_until
from support.tiny_files import Files
from support.warm_process import warm_python

CLUSTER_S = 600.0
"""For one command on a busy machine; a Ray starts in 10 s where nothing else goes on."""
ALONE = ("unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "alone")
"""A network of its own: Ray listens on all interfaces of the machine otherwise."""
ROWS = 2
"""Files of rows that a piece has written when it is in its middle."""
WHERE = {
    "local": ("--workers", "2"),
    "ray": ("--on", "ray", "--workers", "2"),
    "slurm": ("--on", "slurm", "--slurm", "cluster=local", "--workers", "2"),
    "arrays": ("--on", "slurm", "--slurm", "minutes=5"),
}
"""Options of a command by executor; jobs of submitit are processes of this machine, for `arrays` by way of a pretended
SLURM."""


def need(on: str) -> None:
    """Skip a test without the extra, or, for Ray, where no network namespace can be made."""
    package = {"ray": "ray", "slurm": "submitit", "arrays": "submitit"}.get(on)
    if package is not None and find_spec(package) is None:
        pytest.skip(f"needs the package {package}: `make cluster-test` has it")
    if on == "ray" and not can_be_alone():
        pytest.skip("needs a network namespace (unshare --net), since Ray listens on all interfaces")


@cache
def can_be_alone() -> bool:
    """Whether a command can have a network of its own here."""
    if not (shutil.which("unshare") and shutil.which("ip")):
        return False
    return subprocess.run([*ALONE, "true"], capture_output=True, timeout=60).returncode == 0


@contextmanager
def going(
    on: str,
    *arguments: object,
    environment: Mapping[str, str] | None = None,
    python: str = sys.executable,
) -> Iterator[subprocess.Popen[str]]:
    """The command `dmafl` with its work done on an executor; nothing of it is left afterwards."""
    need(on)
    words = [python, "-m", "dmafl", *map(str, arguments), *WHERE[on]]
    process = subprocess.Popen(
        [*ALONE, *words] if on == "ray" else words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | dict(environment or {}),
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=CLUSTER_S)


def carried_out_on(on: str, *arguments: object) -> None:
    """Wait for the end of such a command, which must be a good one."""
    with going(on, *arguments, python=warm_python() if on == "local" else sys.executable) as process:
        well(process)


def well(process: subprocess.Popen[str]) -> None:
    """Wait for its end, which must be a good one."""
    out, err = ended(process, CLUSTER_S)
    assert process.returncode == 0, out + err


def at_work(process: subprocess.Popen[str], folder: Path, rows: Path | None = None) -> int:
    """The process that does the piece which has locked this folder, once it has saved some of its `rows`."""

    def looked_up() -> int:
        assert process.poll() is None, "the command has ended before"
        if rows is not None and len(list(rows.glob("metrics-*.parquet"))) < ROWS:
            return 0
        try:
            return int(json.loads((folder / LOCK).read_text())["pid"])
        except (OSError, ValueError):
            return 0

    pid: int = wait_until(looked_up, f"a process at work in {folder}", CLUSTER_S)
    return pid


def contents(folder: Path) -> dict[str, bytes]:
    """All files but pictures, by their names."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".png"
    }


def longer(files: Files, path: Path, slots: int) -> Path:
    """The tiny scenario with more aggregations of its first task."""
    path.write_text(files.scenario.read_text().replace("slots = 5", f"slots = {slots}"))
    return path
