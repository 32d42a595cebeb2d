"""Where data files are looked for: the given folder, the one in the environment, the user's cache."""

from __future__ import annotations

import os
from pathlib import Path

from dmafl.base.errors import ShownAsIs, bad_input


def folders(data_dir: str | Path | None = None) -> list[Path]:
    """The folders to look in, in this order. A folder that was named but does not exist is an error."""
    named = [("data_dir", data_dir), ("DMAFL_DATA_DIR", os.environ.get("DMAFL_DATA_DIR"))]
    existing = [_existing(name, Path(folder).expanduser()) for name, folder in named if folder]
    cache = _cache()
    if cache is not None and cache.is_dir():
        existing.append(cache)
    return list(dict.fromkeys(existing))


def cache_folder() -> Path:
    """Where fetched data sets are kept: `$DMAFL_CACHE_DIR/data`, else `dmafl/data` in the user's cache."""
    cache = _cache()
    if cache is None:
        remedy = "Set DMAFL_CACHE_DIR to a folder for downloads."
        raise bad_input("DMAFL_CACHE_DIR", "must be set where there is no home", ShownAsIs("nothing"), remedy)
    return cache


def _cache() -> Path | None:
    named = os.environ.get("DMAFL_CACHE_DIR")
    if named:
        return Path(named).expanduser() / "data"
    shared = os.environ.get("XDG_CACHE_HOME", "")
    if Path(shared).is_absolute():  # by the XDG rules a relative path is ignored
        return Path(shared) / "dmafl" / "data"
    try:
        return Path.home() / ".cache" / "dmafl" / "data"
    except RuntimeError:
        return None


def _existing(name: str, folder: Path) -> Path:
    if folder.is_dir():
        return folder
    what = "a file" if folder.exists() else "nothing there"
    remedy = "Check the path, or leave it out to use the cache or the embedded samples."
    raise bad_input(name, "must be an existing folder", ShownAsIs(f"{folder} ({what})"), remedy)
