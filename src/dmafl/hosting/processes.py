"""Processes of Flower: started with a log file, and ended with all that they have started themselves."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dmafl.hosting.flower import Command

GRACE_S = 10.0
"""How long processes have to end themselves."""
LOOK_EVERY_S = 0.1
MOST_LOG_BYTES = 20_000_000
"""A log that is longer is set aside when its process is started; one old log is kept."""
SHOWN_BYTES = 20_000
"""Of the end of a log, for a message."""


@dataclass(frozen=True)
class Known:
    """A process that nothing else is mistaken for: numbers are used again, moments of start are not."""

    pid: int
    started: str
    """As the system counts it; empty where it does not tell."""

    @classmethod
    def of(cls, pid: int) -> Known:
        """The process that has this number now."""
        return cls(pid, _started(pid))

    @property
    def alive(self) -> bool:
        """Whether it still runs; a process that has ended and was not waited for does not."""
        return _exists(self.pid) and _state(self.pid) != "Z" and _started(self.pid) == self.started

    def send(self, number: int) -> None:
        """Send a signal, to this process and to no other."""
        if self.alive:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


def start(command: Command, log: Path) -> subprocess.Popen[bytes]:
    """Start a program whose words go to a log file. Ctrl-C does not reach it: who starts it ends it."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        if log.stat().st_size > MOST_LOG_BYTES:
            log.replace(log.with_suffix(".old.log"))
    with log.open("ab") as written:
        return subprocess.Popen(
            command.program,
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
            env=command.environment,
            start_new_session=True,
        )


def end(processes: Iterable[subprocess.Popen[bytes]], grace_s: float = GRACE_S) -> None:
    """End programs and all that they have started: first asked to, after `grace_s` made to."""
    running = [process for process in processes if process.poll() is None]
    family = [Known.of(pid) for process in running for pid in (process.pid, *descendants(process.pid))]
    for process in running:
        process.terminate()
    end_known(family, grace_s, asked=True)
    for process in running:
        process.wait()


def end_known(family: Iterable[Known], grace_s: float = GRACE_S, asked: bool = False) -> None:
    """End these processes; `asked`: those that started the others were asked to already."""
    left = list(family)
    if not asked:
        for process in left:
            process.send(signal.SIGTERM)
    until = time.monotonic() + grace_s
    while (left := [process for process in left if process.alive]) and time.monotonic() < until:
        time.sleep(LOOK_EVERY_S)
    for process in left:
        process.send(signal.SIGKILL)


def descendants(pid: int) -> list[int]:
    """The processes that a process has started, and so on; none where the system does not tell."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        fields = _stat(int(entry.name))
        if fields:
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


def end_of(log: Path) -> str:
    """The last words of a log."""
    try:
        with log.open("rb") as written:
            written.seek(0, os.SEEK_END)
            written.seek(max(0, written.tell() - SHOWN_BYTES))
            return written.read().decode(errors="replace")
    except FileNotFoundError:
        return ""


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _stat(pid: int) -> list[str]:
    """What the system says of a process after its name: state, parent and so on; empty where it says nothing."""
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        )
    except OSError:
        return []


def _state(pid: int) -> str:
    return (_stat(pid) or ["?"])[0]


def _started(pid: int) -> str:
    fields = _stat(pid)
    return f"{fields[19]} of {_boot()}" if len(fields) > 19 else ""


@cache
def _boot() -> str:
    """What tells this start of the machine from others, after which the same numbers come again."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
