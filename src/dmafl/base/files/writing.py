"""Writing files so that a reader never sees a half-written one, and their checksums."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dmafl.base.files.leftovers import clean_once, held


@contextmanager
def replacing(path: Path, mode: int | None = None) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place only if the block succeeds.

    Until then its owner alone reads it; `mode` is for files that stay so, as private keys do.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    clean_once(path.parent)
    with _new_part(path) as part:
        try:
            yield part
            with part.open("rb") as written:
                os.fsync(written.fileno())
            part.chmod(0o666 & ~_umask() if mode is None else mode)
            part.replace(path)
        except BaseException as error:
            part.unlink(missing_ok=True)
            if isinstance(error, OSError) and error.filename in (None, str(part)):
                raise OSError(error.errno, error.strerror or str(error), str(path)) from error
            raise


@contextmanager
def _new_part(path: Path) -> Iterator[Path]:
    """An empty file beside `path`, locked as long as it is written."""
    while True:
        try:
            handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        except OSError as error:  # reported for the file that the user knows, not for the temporary one
            raise OSError(error.errno, error.strerror, str(path)) from None
        with held(handle) as is_there:
            if is_there:
                yield Path(name)
                return


def write_bytes(path: Path, content: bytes, mode: int | None = None) -> None:
    """Write `content` to `path`, whole or not at all."""
    with replacing(path, mode) as part:
        part.write_bytes(content)


def write_text(path: Path, content: str) -> None:
    """Write `content` to `path` as UTF-8, whole or not at all."""
    write_bytes(path, content.encode())


def write_json(path: Path, content: Any) -> None:
    """Write `content` to `path` as JSON, whole or not at all."""
    write_bytes(path, json_bytes(content))


def json_bytes(content: Any) -> bytes:
    """What `write_json` writes."""
    return (json.dumps(content, allow_nan=False, indent=1) + "\n").encode()


def canonical_json(content: Any) -> str:
    """The one spelling of `content` that its checksum is taken of."""
    return json.dumps(content, allow_nan=False, sort_keys=True, separators=(",", ":"))


def sha256_of(content: bytes | str) -> str:
    """Hexadecimal SHA-256 of `content`."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
