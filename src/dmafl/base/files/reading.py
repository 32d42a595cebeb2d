"""Reading files that others may have written: regular files of bounded length, and text in UTF-8."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO

from dmafl.base.errors import BadInput, Problem, ShownAsIs, bad_input
from dmafl.base.files.limits import MAX_FILE_BYTES, MAX_SCENARIO_BYTES

COMPLETE = "Check that the file is complete and was written by dmafl."
_CHUNK_BYTES = 1 << 20
_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def read_text(path: Path, what: str, max_bytes: int = MAX_SCENARIO_BYTES) -> str:
    """The UTF-8 text of `path`; `what` names the kind of file in errors."""
    return decoded(read_bytes(path, what, max_bytes), str(path), what)


def read_bytes(path: Path, what: str, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """The bytes of the regular file `path`, or a `BadInput` that says why they cannot be read."""
    with open_regular(path, what, max_bytes) as file, readable(path, what):
        # One byte more than it should have, so that a file that grows while it is read is noticed.
        content = file.read(os.fstat(file.fileno()).st_size + 1)
        while more := file.read(_CHUNK_BYTES):
            content += more
            if len(content) > max_bytes:
                raise too_large(path, what, max_bytes, f"more than {max_bytes:,} bytes")
    return content


def decoded(content: bytes, name: str, what: str) -> str:
    """`content` as UTF-8 text."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise bad_input(
            name,
            f"must be UTF-8 text ({what})",
            ShownAsIs(f"byte {error.object[error.start]:#04x} at position {error.start}"),
            "Save the file as UTF-8 text.",
        ) from None


@contextmanager
def open_regular(path: Path, what: str, max_bytes: int = MAX_FILE_BYTES) -> Iterator[IO[bytes]]:
    """`path` open for reading, if it is a regular file of at most `max_bytes`; anything else is refused unread."""
    with readable(path, what):
        # Checked before it is opened, since opening a device may have effects, and after, since another file may have
        # taken its place; opened without blocking, since a pipe would wait for its other end.
        _check_kind(path, what, path.stat().st_mode)
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        file = open(handle, "rb", buffering=0)  # noqa: SIM115, PTH123 - closed below
    with file:
        about = os.fstat(handle)
        _check_kind(path, what, about.st_mode)
        if about.st_size > max_bytes:
            raise too_large(path, what, max_bytes, f"{about.st_size:,} bytes")
        yield file


def too_large(path: Path, what: str, max_bytes: int, size: str) -> BadInput:
    """The refusal of a file that is longer than its kind may be."""
    rule = f"must be a {what} of at most {max_bytes:,} bytes"
    return bad_input(str(path), rule, ShownAsIs(size), "Check that this is the file you meant.")


@contextmanager
def readable(path: Path, what: str) -> Iterator[None]:
    """Turn errors of the system while reading `path` into a `BadInput` that says why."""
    name = str(path)
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        rule = f"must be an existing {what} file"
        raise bad_input(name, rule, ShownAsIs("no such file"), "Check the path.") from None
    except OSError as error:
        rule, reason = f"must be a readable {what} file", error.strerror or str(error)
        raise bad_input(name, rule, ShownAsIs(reason), "Check its permissions.") from None
    except ValueError as error:  # a path with a zero byte
        rule = f"must be the path of a {what} file"
        raise bad_input(name, rule, ShownAsIs(str(error)), "Check the path.") from None


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Put the file's name before the entry that a refusal is about."""
    try:
        yield
    except BadInput as error:
        raise BadInput(*(_named(problem, str(path)) for problem in error.problems)) from None


def _named(problem: Problem, file: str) -> Problem:
    return problem if file in problem.name else replace(problem, name=f"{file}: {problem.name}")


def _check_kind(path: Path, what: str, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    kind = _KINDS.get(stat.S_IFMT(mode), "something else")
    remedy = "Name the file inside it." if stat.S_ISDIR(mode) else "Name a file on disk."
    raise bad_input(str(path), f"must be a {what} file", ShownAsIs(kind), remedy)
