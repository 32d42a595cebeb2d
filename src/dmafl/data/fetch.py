"""Fetching the full public data sets into the cache."""

from __future__ import annotations

import errno
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dmafl.base.errors import BadInput, Problem, ShownAsIs, bad_input
from dmafl.base.files import locked, open_regular, replacing
from dmafl.data import idx, mat, npz
from dmafl.data.dataset import ARRAYS, Bytes, check_arrays
from dmafl.data.folders import cache_folder
from dmafl.data.sources import SOURCES, Remote, Source

SCRATCH = ".fetch-"
"""How the names of folders for unfinished downloads begin."""
Progress = Callable[[int, int], None]
"""Called with the bytes received so far and the bytes of everything to fetch."""


def fetch(
    names: str | Iterable[str],
    into: str | Path | None = None,
    base_urls: Mapping[str, Sequence[str]] | None = None,
    progress: Progress | None = None,
    *,
    timeout_s: float = 30.0,
    sources: Mapping[str, Source] = SOURCES,
) -> tuple[Path, ...]:
    """Download, check, convert and keep each data set as NAME.npz in `into` (default: the cache).

    A file that is already there and complete is kept; another of that name is replaced. `base_urls` gives other
    addresses by name, tried in order. Either the whole NAME.npz appears or nothing changes.
    """
    names = (names,) if isinstance(names, str) else tuple(dict.fromkeys(names))
    for name in names:
        if name not in sources:
            rule = f"must be one of {', '.join(sources)}"
            raise bad_input(
                "data fetch", rule, name, "Other data sets come with the package or are your own."
            )
    folder = cache_folder() if into is None else Path(into).expanduser()
    paths = {name: folder / f"{name}.npz" for name in names}
    absent = [name for name in names if not _complete(paths[name], sources[name])]
    meter = _Meter(progress, sum(remote.size for name in absent for remote in sources[name].files))
    if absent:
        with _disk(folder), locked(folder):
            for unfinished in folder.glob(f"{SCRATCH}*"):
                shutil.rmtree(unfinished, ignore_errors=True)
            for name in absent:
                urls = (base_urls or {}).get(name, sources[name].base_urls)
                _fetch_one(sources[name], name, urls, paths[name], meter, timeout_s)
    return tuple(paths.values())


def _fetch_one(
    source: Source, name: str, urls: Sequence[str], path: Path, meter: _Meter, timeout_s: float
) -> None:
    with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=path.parent) as scratch:
        for remote in source.files:
            _download(urls, remote, Path(scratch), meter, timeout_s)
            meter.before += remote.size
        arrays = _converted(source, Path(scratch))
        _check(name, arrays, source)
        with replacing(path) as part:
            npz.write(part, arrays)


@dataclass
class _Meter:
    """Turns the bytes of one file into the bytes of all files."""

    progress: Progress | None
    total: int
    before: int = 0

    def __call__(self, received: int) -> None:
        if self.progress is not None:
            self.progress(self.before + received, self.total)


def _download(
    urls: Sequence[str], remote: Remote, scratch: Path, on_bytes: Callable[[int], None], timeout_s: float
) -> None:
    """`remote` from the first address that has it; if none has it, the errors of all of them."""
    from dmafl.data.download import download  # here, because the HTTP client is slow to import

    problems: list[Problem] = []
    if not urls:
        raise bad_input(
            "base_urls", "must name an address", ShownAsIs("none"), "Leave it out for the usual one."
        )
    for url in urls:
        try:
            return download(
                url.rstrip("/") + "/" + remote.name, remote, scratch / remote.name, on_bytes, timeout_s
            )
        except BadInput as error:
            problems.extend(error.problems)
    raise BadInput(*problems)


def _converted(source: Source, scratch: Path) -> dict[str, Bytes]:
    paths = [scratch / remote.name for remote in source.files]
    if source.format == "idx":
        return {
            array: idx.read_gz(path, dimensions=3 if array.startswith("x") else 1)
            for array, path in zip(ARRAYS, paths, strict=True)
        }
    train, test = paths
    x_train, y_train = mat.read(train)
    x_test, y_test = mat.read(test)
    return {"x_train": x_train, "y_train": y_train, "x_test": x_test, "y_test": y_test}


def _check(name: str, arrays: Mapping[str, Bytes], source: Source) -> None:
    """Refuse arrays that are not the published ones."""
    check_arrays(arrays, name)
    samples = (len(arrays["y_train"]), len(arrays["y_test"]))
    remedy = "Remove the file and fetch it again."
    if samples != source.samples:
        raise bad_input(name, f"must have {source.samples} training and test samples", samples, remedy)
    for array, sha256 in (source.content or {}).items():
        digest = hashlib.sha256(np.ascontiguousarray(arrays[array]).data).hexdigest()
        if digest != sha256:
            rule = f"must have the content sha256 {sha256}"
            raise bad_input(f"{name}: {array}", rule, ShownAsIs(digest), remedy)


def _complete(path: Path, source: Source) -> bool:
    """True if `path` holds the published arrays."""
    try:
        with open_regular(path, "data") as file:
            _check(path.stem, npz.arrays(file, str(path)), source)
    except (OSError, BadInput):
        return False
    return True


@contextmanager
def _disk(folder: Path) -> Iterator[None]:
    """Errors of the disk as messages; those of the network are reported where they happen."""
    try:
        yield
    except OSError as error:
        name = str(folder)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            remedy = "Free some, or choose another folder with DMAFL_CACHE_DIR."
            raise bad_input(name, "must have room for the data", ShownAsIs("a full disk"), remedy) from None
        remedy = "Check its permissions, or choose another folder with DMAFL_CACHE_DIR."
        reason = error.strerror or str(error)
        raise bad_input(name, "must be a folder to write to", ShownAsIs(reason), remedy) from None
