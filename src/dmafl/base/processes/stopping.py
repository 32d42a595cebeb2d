"""Stopping on Ctrl-C or SIGTERM at a safe moment: the signal is noted, and the work checks for it regularly."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

STOPPING: tuple[signal.Signals, ...] = tuple(
    signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""Signals that end a command: from Ctrl-C, from a batch system or `kill`, from a terminal that is closed."""


class Interrupted(KeyboardInterrupt):
    """The work was stopped, and its state is saved."""


@contextmanager
def stop_asked() -> Iterator[Callable[[], bool]]:
    """Gives a function that says whether a stop was asked for; a second Ctrl-C stops at once.

    Signals that this process ignores, as a job in the background or under `nohup` does, stay ignored.
    """
    received: list[int] = []
    before = {number: signal.getsignal(number) for number in STOPPING}
    at_once = before[signal.SIGINT]

    def note(number: int, frame: FrameType | None) -> None:
        if received and number == signal.SIGINT and callable(at_once):
            at_once(number, frame)
        received.append(number)

    handled = [number for number, handler in before.items() if handler not in (signal.SIG_IGN, None)]
    try:
        for number in handled:
            signal.signal(number, note)
    except ValueError:  # not the main thread: signals are not handled here
        yield lambda: False
        return
    try:
        yield lambda: bool(received)
    finally:
        for number in handled:
            signal.signal(number, before[number])
