"""Half-written files whose writer has died: they are recognised by a lock on the file itself, and removed."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PART = re.compile(r"\..+\.[a-z0-9_]{8}\.part")
"""Names that `replacing` gives to files until they are whole."""
_cleaned: set[str] = set()
"""Folders that this process has cleaned: once is enough, and what is left later is removed by the next command."""


def clean_once(folder: Path) -> None:
    """Remove what dead processes have left half-written in `folder`, when this process first writes there."""
    name = os.path.abspath(folder)  # noqa: PTH100  quicker by far, and this is called for every file
    if name in _cleaned:
        return
    _cleaned.add(name)
    with suppress(OSError), os.scandir(name) as entries:
        parts = [Path(entry.path) for entry in entries if PART.fullmatch(entry.name)]
        for part in parts:
            with suppress(OSError):  # it has a writer, or is gone
                _remove_if_dead(part)


if sys.platform == "win32":
    OLD_S = 3600.0
    """A part that was not written to for this long has no writer [s]."""

    @contextmanager
    def held(handle: int) -> Iterator[bool]:
        """Close the file: on Windows an open file cannot replace another one."""
        os.close(handle)
        yield True

    def _remove_if_dead(part: Path) -> None:
        if time.time() - part.stat().st_mtime > OLD_S:
            part.unlink(missing_ok=True)
else:
    import fcntl

    @contextmanager
    def held(handle: int) -> Iterator[bool]:
        """Lock the open file while the block runs, so that it counts as being written, then close it.

        Gives whether the file still exists. A process that removes a leftover holds the same lock: either the writer
        gets it first, or the writer sees that its file was removed.
        """
        try:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield os.fstat(handle).st_nlink > 0
        finally:
            os.close(handle)

    def _remove_if_dead(part: Path) -> None:
        """Remove the file if no process writes it any more; if that is uncertain, keep it."""
        handle = os.open(part, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            part.unlink()
        finally:
            os.close(handle)
