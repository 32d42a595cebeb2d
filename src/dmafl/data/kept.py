"""Data sets that stay in memory between pieces of work that read the same files.

Their arrays are read-only, so that work after work may have the same ones. A file that was replaced is read again.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dmafl.data.dataset import Dataset

Identity = tuple[str, int, int, int]
"""Path, inode, size, and when it was written."""


class KeptDataSets:
    """Keeps nothing until it is asked to."""

    def __init__(self) -> None:
        self._keeping = False
        self._kept: dict[Identity, Dataset] = {}

    def keep(self) -> None:
        """From now on, keep what is read."""
        self._keeping = True

    def forget(self) -> None:
        """Keep nothing, and let go of what was kept."""
        self._keeping = False
        self._kept.clear()

    def of(self, path: Path, read: Callable[[], Dataset]) -> Dataset:
        """The data set in the file at `path`: what is kept of it, else what `read` gives."""
        if not self._keeping:
            return read()
        identity = _identity(path)
        if identity not in self._kept:
            self._kept[identity] = read()
        return self._kept[identity]


def _identity(path: Path) -> Identity:
    about = path.stat()
    return str(path), about.st_ino, about.st_size, about.st_mtime_ns


KEPT = KeptDataSets()
"""Of this process."""
