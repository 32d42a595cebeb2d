"""One command at a time writes to a folder. The operating system releases a lock when its holder dies."""

from __future__ import annotations

import errno
import json
import os
import socket
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dmafl.base.errors import BadInput, ShownAsIs, bad_input

LOCK = ".dmafl.lock"
"""The lock file in a folder, which names its holder. It is not an output, and is removed when the lock is released."""
PATIENCE_S = 3.0
"""How long to wait for a lock [s]: processes of a command that was killed end within two seconds."""
LOOK_EVERY_S = 0.05
MAX_WORDS, MAX_SIGNATURE = 100, 100_000
"""Characters that a message shows of a command or a host, and bytes that are read of a lock file."""
_FREE_BYTE = 1 << 30
"""On Windows no other process can read locked bytes, so the locked byte is one beyond the end of the file."""


@contextmanager
def locked(folder: Path, patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Lock `folder`, made if it does not exist, against other commands; refuses if another command holds it.

    On a file system without locks nothing is locked.
    """
    is_new = not _is_there(folder)
    handle = _acquired(folder / LOCK, time.monotonic() + patience_s)
    try:
        yield
    finally:
        _release(handle, folder / LOCK)
        if is_new:  # nothing was written: a command that is refused leaves no folder behind
            with suppress(OSError):
                folder.rmdir()


def _is_there(folder: Path) -> bool:
    """Whether `folder` exists; refuses a file. Looks once: another command may make or remove it at any time."""
    try:
        mode = folder.stat().st_mode
    except FileNotFoundError:
        return False
    if not stat.S_ISDIR(mode):
        raise bad_input(str(folder), "must be a folder", ShownAsIs("a file"), "Name another one.")
    return True


def try_lock(handle: int) -> bool:
    """Lock an open file for this process; False if another process has it. True on a file system without locks."""
    try:
        _lock(handle)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
            return False
        if error.errno in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
            return True
        raise
    return True


def _acquired(path: Path, until: float) -> int:
    """An open and locked file at `path`."""
    while True:
        handle = _opened(path)
        try:
            if try_lock(handle):
                # The holder before us may have removed the file after we opened it: then our lock keeps no one out.
                if _is_at(handle, path):
                    _sign(handle)
                    return handle
            elif time.monotonic() >= until:
                raise _refusal(path, handle)
            else:
                time.sleep(LOOK_EVERY_S)
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _opened(path: Path) -> int:
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            if not _is_there(path.parent) and path.parent.is_symlink():
                raise  # a link to nowhere
            continue  # it was there, and was removed while `mkdir` looked what it is
        try:
            return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        except FileNotFoundError:
            continue  # the holder before us has just removed the folder
        except OSError as error:  # reported for the folder, which is what the user has named
            raise OSError(error.errno, error.strerror, str(path.parent)) from None


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _sign(handle: int) -> None:
    """Write who holds the lock. A full disk is reported by the next thing that is written."""
    holder = {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "command": _command(),
        "since": datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
    }
    with suppress(OSError):
        os.ftruncate(handle, 0)
        os.write(handle, json.dumps(holder).encode())


def _command() -> str:
    """The command line of this process, without the folders of the program."""
    program, *arguments = sys.argv or [""]
    path = Path(program)
    name = path.parent.name if path.name == "__main__.py" else path.name  # python -m
    return " ".join([name, *arguments])


def _release(handle: int, path: Path) -> None:
    """Remove the file while the lock is still ours, then release it; who opened it meanwhile sees that it is gone."""
    if os.name == "nt":  # an open file cannot be removed there
        os.close(handle)
        with suppress(OSError):
            path.unlink()
        return
    try:
        with suppress(OSError):
            if _is_at(handle, path):
                path.unlink()
    finally:
        os.close(handle)


def _refusal(path: Path, handle: int) -> BadInput:
    return bad_input(
        str(path.parent),
        "must not be in use by another command",
        ShownAsIs(_holder(handle)),
        "Wait for it to end, or stop it, or name another folder.",
    )


def _holder(handle: int) -> str:
    """Who holds the lock, as far as its file says."""
    try:
        os.lseek(handle, 0, os.SEEK_SET)
        signature: Any = json.loads(os.read(handle, MAX_SIGNATURE))
        words = {name: _printable(signature[name]) for name in ("command", "host", "since")}
        process = f"process {int(signature['pid'])} on {words['host']}"
        return f"{process} (`{words['command']}`) since {words['since']}"
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "a process that has not said who it is"


def _printable(value: object) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in str(value)[:MAX_WORDS])


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        os.lseek(handle, _FREE_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(handle, 0, os.SEEK_SET)
else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
