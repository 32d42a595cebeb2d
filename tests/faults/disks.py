"""Disks that fill up: a small file system in memory, or a limit on the size of files where we may not mount one."""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from faults.bench import Bench
from faults.seen import Seen
from faults.works import Work

PAGE_BYTES = 4096
REMOUNT, DETACH = 32, 2
LARGE = "size=256m,nr_inodes=0"
_libc = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)


def may_mount(folder: Path) -> bool:
    """Whether this user may mount a file system."""
    place = folder / "mount"
    place.mkdir(parents=True, exist_ok=True)
    if _mount(place, LARGE) != 0:
        return False
    _libc.umount2(os.fsencode(place), DETACH)
    return True


@contextmanager
def small_disk(place: Path, options: str) -> Iterator[None]:
    """A file system in memory at `place`."""
    place.mkdir(parents=True, exist_ok=True)
    if _mount(place, options) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(place))
    try:
        yield
    finally:
        _libc.umount2(os.fsencode(place), DETACH)


def unmount_below(root: Path) -> None:
    """Unmount whatever an interrupted case has left."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/mounts").read_text().splitlines():
            place = line.split()[1]
            if place.startswith(str(root)):
                _libc.umount2(os.fsencode(place), DETACH)


def filled(bench: Bench, work: Work, number: int) -> Seen:
    """Fill the disk of a command at some file, then free it and go on."""
    dice = bench.dice("disks", number)
    seen = Seen(f"full disks: {work.group}", f"disks {number}: {work.name}")
    written = bench.refer(work).outcome
    pages = sum(1 + len(content) // PAGE_BYTES for content in written.values())
    with bench.folder("disk") as folder:
        disk = folder / "disk"
        if bench.mounts:
            by_files = dice.random() < 0.25
            most = len(written) + 12
            options = (
                f"nr_inodes={dice.randint(2, most)}"
                if by_files
                else f"size={dice.randint(1, pages + 8) * PAGE_BYTES}"
            )
            with small_disk(disk, options):
                _first(bench, work, disk, folder, seen, number)
                _mount(disk, LARGE, REMOUNT)
                _then(bench, work, disk, folder, seen)
        else:
            largest = max(len(content) for content in written.values())
            disk.mkdir()
            _first(bench, work, disk, folder, seen, number, limit=dice.randint(1, largest))
            _then(bench, work, disk, folder, seen)
    return seen


def _first(
    bench: Bench,
    work: Work,
    disk: Path,
    folder: Path,
    seen: Seen,
    number: int,
    limit: int | None = None,
) -> None:
    def limited() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    command = bench.command(work, disk, prepare=limited, logs=folder / "logs")
    ended = seen.add(command.end(), (0, 2) if work.group != "reproduce" else (0, 1, 2), work.name)
    seen.injected = ended.code != 0
    if ended.code == 2 and str(disk) not in "".join(ended.messages):
        seen.wrong.append(f"{work.name}: no message that names the file: {ended.text[-400:]}")


def _then(bench: Bench, work: Work, disk: Path, folder: Path, seen: Seen) -> None:
    if not seen.injected:
        bench.judge(seen, work, disk, folder / "logs")
        return
    again = bench.command(work, disk, again=True, log="again", logs=folder / "logs")
    if seen.add(again.end(), (0,), f"{work.name}, again").code == 0:
        bench.judge(seen, work, disk, folder / "logs")


def _mount(place: Path, options: str, flags: int = 0) -> int:
    return int(_libc.mount(b"none", os.fsencode(place), b"tmpfs", flags, options.encode()))
