"""Reading and writing files so that a reader never sees half of one."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dmafl.errors import ShownAsIs, bad_input

MAX_TEXT_BYTES = 5_000_000
"""A scenario larger than this is not a scenario; stops noise before a parser chews on it."""
COMPLETE = "Check that the file is complete and was written by dmafl."


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place only if the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    part = Path(name)
    try:
        yield part
        with part.open("rb") as written:
            os.fsync(written.fileno())
        part.chmod(0o666 & ~_umask())
        part.replace(path)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(part)):
            raise OSError(error.errno, error.strerror or str(error), str(path)) from error
        raise


def write_bytes(path: Path, content: bytes) -> None:
    """Write `content` to `path`, whole or not at all."""
    with replacing(path) as part:
        part.write_bytes(content)


def write_text(path: Path, content: str) -> None:
    """Write `content` to `path` as UTF-8, whole or not at all."""
    write_bytes(path, content.encode())


def write_json(path: Path, content: Any) -> None:
    """Write `content` to `path` as JSON, whole or not at all."""
    write_text(path, json.dumps(content, allow_nan=False, indent=1) + "\n")


def canonical_json(content: Any) -> str:
    """The one spelling of `content` that its checksum is taken of."""
    return json.dumps(content, allow_nan=False, sort_keys=True, separators=(",", ":"))


def sha256_of(content: bytes | str) -> str:
    """Hexadecimal SHA-256 of `content`."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def read_text(path: Path, what: str, max_bytes: int = MAX_TEXT_BYTES) -> str:
    """The UTF-8 text of `path`; `what` names the kind of file in errors."""
    return _decoded(read_bytes(path, what, max_bytes), path, what)


def read_bytes(path: Path, what: str, max_bytes: int | None = None) -> bytes:
    """The bytes of `path`, or a `BadInput` that says why they cannot be had."""
    name = str(path)
    if path.is_dir():
        raise bad_input(name, f"must be a {what} file", ShownAsIs("a directory"), "Name the file inside it.")
    try:
        size = path.stat().st_size
        if max_bytes is not None and size > max_bytes:
            raise bad_input(
                name,
                f"must be a {what} of at most {max_bytes:,} bytes",
                ShownAsIs(f"{size:,} bytes"),
                "Check that this is the file you meant.",
            )
        return path.read_bytes()
    except FileNotFoundError:
        raise bad_input(
            name, f"must be an existing {what} file", ShownAsIs("no such file"), "Check the path."
        ) from None
    except OSError as error:
        raise bad_input(
            name,
            f"must be a readable {what} file",
            ShownAsIs(error.strerror or str(error)),
            "Check its permissions.",
        ) from None


def read_json(path: Path, what: str, remedy: str = COMPLETE) -> Any:
    """The JSON content of `path`; NaN and infinity are refused."""
    text = _decoded(read_bytes(path, what), path, what)

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not a number of this format")

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise bad_input(str(path), f"must be JSON ({what})", ShownAsIs(str(error)), remedy) from None


def _decoded(content: bytes, path: Path, what: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise bad_input(
            str(path),
            f"must be UTF-8 text ({what})",
            ShownAsIs(f"byte {error.object[error.start]:#04x} at position {error.start}"),
            "Save the file as UTF-8 text.",
        ) from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
