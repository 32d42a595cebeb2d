"""Stopping on Ctrl-C or SIGTERM at a moment that suits: the signal is noted, and the work looks now and then."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

STOPPING: tuple[signal.Signals, ...] = tuple(
    signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""What ends a command: Ctrl-C, a batch system or `kill`, and a terminal that is closed."""


class Interrupted(KeyboardInterrupt):
    """Work was stopped and what it had done is saved."""


@contextmanager
def stop_asked() -> Iterator[Callable[[], bool]]:
    """Whether a stop was asked for; the first signal is noted, a second that is Ctrl-C stops at once.

    Signals that this process ignores, as a job in the background or under `nohup` does, stay ignored.
    """
    seen: list[int] = []
    before = {number: signal.getsignal(number) for number in STOPPING}
    at_once = before[signal.SIGINT]

    def note(number: int, frame: FrameType | None) -> None:
        if seen and number == signal.SIGINT and callable(at_once):
            at_once(number, frame)
        seen.append(number)

    heard = [number for number, handler in before.items() if handler not in (signal.SIG_IGN, None)]
    try:
        for number in heard:
            signal.signal(number, note)
    except ValueError:  # not the main thread: signals are somebody else's
        yield lambda: False
        return
    try:
        yield lambda: bool(seen)
    finally:
        for number in heard:
            signal.signal(number, before[number])
