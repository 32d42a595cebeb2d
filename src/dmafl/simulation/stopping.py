"""Stopping on Ctrl-C or SIGTERM at a moment that suits: the signal is noted, and the work looks now and then."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """Work was stopped and what it had done is saved."""


@contextmanager
def stop_asked() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C or SIGTERM has come; the first is noted, a second Ctrl-C stops at once."""
    seen: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def note(number: int, frame: FrameType | None) -> None:
        at_once = before[signal.SIGINT]
        if seen and number == signal.SIGINT and callable(at_once):
            at_once(number, frame)
        seen.append(number)

    try:
        for number in before:
            signal.signal(number, note)
    except ValueError:  # not the main thread: signals are somebody else's
        yield lambda: False
        return
    try:
        yield lambda: bool(seen)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
