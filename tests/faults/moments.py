"""When a fault strikes: after so many seconds, or at the n-th thing that a command does to its files.

The second kind reaches the gaps between two file operations that no clock would hit: between the end of a run and its
clean-up, between a file and its rename.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from faults.commands import Prepare

OPERATIONS = {
    "open",
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.truncate",
    "shutil.rmtree",
    "tempfile.mkstemp",
}


def counting(folder: Path, into: Path) -> Prepare:
    """Count the operations of a command on its folder; the number is written at its end."""

    def prepare() -> None:
        seen = _watch(folder, lambda count: None)
        leave = os._exit

        def exit_(code: int) -> None:
            into.write_text(str(seen[0]))
            leave(code)

        os._exit = exit_  # type: ignore[assignment]

    return prepare


def at_operation(folder: Path, number: int, strike: Callable[[], None]) -> Prepare:
    """Strike at the n-th operation of a command on its folder, from inside it."""

    def prepare() -> None:
        _watch(folder, lambda count: strike() if count == number else None)

    return prepare


def signal_to_itself(number: signal.Signals, group: bool) -> Callable[[], None]:
    """A signal that a process sends to itself, or to its group."""

    def strike() -> None:
        (os.killpg if group else os.kill)(os.getpid(), number)

    return strike


def age(dice: random.Random, length_s: float) -> float:
    """A moment in the life of a command, a little beyond its usual end too [s]."""
    return dice.uniform(0.0, 1.05 * length_s)


def _watch(folder: Path, told: Callable[[int], None]) -> list[int]:
    """Call `told` with the number of every operation on files below `folder`."""
    count, place = [0], str(folder)
    logs = str(folder / "logs")
    owner = os.getpid()

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event not in OPERATIONS or not arguments:
            return
        name = arguments[0]
        text = os.fspath(name) if isinstance(name, str | os.PathLike) else ""
        if (
            isinstance(text, str)
            and text.startswith(place)
            and not text.startswith(logs)
            and os.getpid() == owner
        ):
            count[0] += 1
            told(count[0])

    sys.addaudithook(hook)
    return count
