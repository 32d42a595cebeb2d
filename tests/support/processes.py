"""Looking at processes from outside: who belongs to whom, and waiting for them, never without end."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from support.patience import PATIENCE_S

END_S = 10.0
"""Processes end within two seconds of their parent; a busy machine may take longer to see it [s]."""


def wait_for(what: str, there: Callable[[], bool], process: subprocess.Popen[str] | None = None) -> None:
    """Wait until it is `there`; says what it waited for if it does not come, or if the process ends before."""
    until = time.monotonic() + PATIENCE_S
    while not there():
        assert time.monotonic() < until, f"waited {PATIENCE_S:.0f} s for {what}"
        assert process is None or process.poll() is None, f"the process ended before {what}"
        time.sleep(0.02)


def descendants(pid: int) -> set[int]:
    """All processes that `pid` has started, and that those have."""
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            own = {int(child) for child in task.read_text().split()}
        except OSError:
            continue
        found |= own.union(*map(descendants, own))
    return found


def alive(pid: int) -> bool:
    """Whether it runs; one that has ended and was not asked for yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(family: Iterable[int]) -> None:
    """Wait until all these processes have ended."""
    until = time.monotonic() + END_S
    left = {pid for pid in family if alive(pid)}
    while left and time.monotonic() < until:
        time.sleep(0.02)
        left = {pid for pid in left if alive(pid)}
    names = [Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")[:100] for pid in left]
    assert not left, f"alive {END_S:.0f} s after the process that started them: {names}"
