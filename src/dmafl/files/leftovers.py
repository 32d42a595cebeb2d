"""Half-written files whose writer has died: told from live ones by a lock on the file itself, and removed."""

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
YOUNG_S = 5.0
"""A part without content that is younger may not be locked yet, for its writer has just made it [s]."""
_cleaned: set[str] = set()
"""Folders that this process has looked through: once is enough, later leftovers are the next command's."""


@contextmanager
def held(handle: int) -> Iterator[None]:
    """Show that the open file has a live writer while the block runs, then close it."""
    try:
        _hold(handle)
        yield
    finally:
        if not _CLOSED_AT_ONCE:
            os.close(handle)


def clean_once(folder: Path) -> None:
    """Remove what dead processes have left half-written in `folder`, when this process first writes there."""
    name = os.path.abspath(folder)  # noqa: PTH100  quicker by far, and this is called for every file
    if name in _cleaned:
        return
    _cleaned.add(name)
    with suppress(OSError), os.scandir(name) as entries:
        parts = [Path(entry.path) for entry in entries if PART.fullmatch(entry.name)]
        for part in parts:
            if _is_dead(part):
                part.unlink(missing_ok=True)


def _is_dead(part: Path) -> bool:
    """Whether nobody writes the file any more; in doubt somebody does."""
    try:
        handle = os.open(part, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return False
    try:
        if not _is_free(handle):
            return False
        known = os.fstat(handle)
        return known.st_size > 0 or time.time() - known.st_mtime > YOUNG_S
    finally:
        os.close(handle)


if sys.platform == "win32":
    _CLOSED_AT_ONCE = True  # a file that is open cannot take another's place there

    def _hold(handle: int) -> None:
        os.close(handle)

    def _is_free(handle: int) -> bool:
        return time.time() - os.fstat(handle).st_mtime > 3600.0
else:
    import fcntl

    _CLOSED_AT_ONCE = False

    def _hold(handle: int) -> None:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)

    def _is_free(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
