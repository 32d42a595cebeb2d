"""What runs of a deployment on this machine: one record per server or device, beside its logs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dmafl.base.errors import BadInput
from dmafl.base.files.locking import locked
from dmafl.base.files.strict_json import read_json
from dmafl.base.files.writing import write_json
from dmafl.hosting.layout import Layout
from dmafl.hosting.processes import GRACE_S, LOOK_EVERY_S, Known, descendants, end_known

RECORD = "process.json"


@dataclass(frozen=True)
class Record:
    """A server or a device that was started here."""

    name: str
    address: str
    """Where the server listens, or where a device finds it."""
    insecure: bool
    since: str
    keeper: Known
    """The process that keeps the others going."""
    others: tuple[Known, ...]

    @property
    def alive(self) -> bool:
        """Whether anything of it still runs."""
        return any(process.alive for process in (self.keeper, *self.others))

    def written(self) -> dict[str, Any]:
        """As it stands in the file."""
        return {
            "name": self.name,
            "address": self.address,
            "insecure": self.insecure,
            "since": self.since,
            "processes": [[process.pid, process.started] for process in (self.keeper, *self.others)],
        }


@contextmanager
def recorded(part: Path, name: str, address: str, insecure: bool) -> Iterator[Recorder]:
    """Lock the folder of a server or device, so that there is one of it; its record is removed at the end.

    What one that was killed has left behind is ended first.
    """
    with locked(part):
        left = _read(part / RECORD)
        if left is not None:
            end_known(_family(left))
        recorder = Recorder(part, name, address, insecure)
        recorder.write([])
        try:
            yield recorder
        finally:
            (part / RECORD).unlink(missing_ok=True)


@dataclass(frozen=True)
class Recorder:
    """Writes the record of what runs in a folder."""

    part: Path
    name: str
    address: str
    insecure: bool

    def write(self, pids: Sequence[int]) -> None:
        """Note the processes that run now."""
        since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        others = tuple(Known.of(pid) for pid in pids)
        record = Record(self.name, self.address, self.insecure, since, Known.of(os.getpid()), others)
        write_json(self.part / RECORD, record.written())


def records(layout: Layout) -> list[Record]:
    """Everything that was started here and has not ended well; some of it may be dead."""
    found = (_read(path) for path in sorted(layout.running.glob(f"*/{RECORD}")))
    return [record for record in found if record is not None]


def stop(record: Record) -> bool:
    """End what a record names; False if there was nothing left of it."""
    if not record.alive:
        return False
    family = _family(record)
    if record.keeper.alive:  # it ends the others itself
        record.keeper.send(signal.SIGTERM)
        until = time.monotonic() + 2 * GRACE_S
        while record.keeper.alive and time.monotonic() < until:
            time.sleep(LOOK_EVERY_S)
    end_known(process for process in family if process.alive)
    return True


def _family(record: Record) -> list[Known]:
    """The processes of a record that are alive, and all that they have started."""
    alive = [process for process in (record.keeper, *record.others) if process.alive]
    return [*alive, *(Known.of(pid) for process in alive for pid in descendants(process.pid))]


def forget(layout: Layout) -> None:
    """Remove records of what is dead."""
    for path in layout.running.glob(f"*/{RECORD}"):
        record = _read(path)
        if record is None or not record.alive:
            with suppress(FileNotFoundError):
                path.unlink()


def _read(path: Path) -> Record | None:
    try:
        content: Any = read_json(path, "record of a process")
        known = [Known(int(pid), str(started)) for pid, started in content["processes"]]
        return Record(
            str(content["name"]),
            str(content["address"]),
            bool(content["insecure"]),
            str(content["since"]),
            known[0],
            tuple(known[1:]),
        )
    except (BadInput, ValueError, KeyError, TypeError, IndexError):  # it has just been removed, or is damaged
        return None
