"""What a signal does to a command: one line, exit code 130, never a traceback. Imports little, to be early."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

from dmafl.base.processes.stopping import STOPPING

INTERRUPTED = 130
AGAIN_S = 0.02
"""Time until a stop is tried again that was raised where Python ignores errors [s]."""


class Stopped(BaseException):
    """A command is to stop; the text says what is kept and how to go on, where that is known.

    No KeyboardInterrupt: the command line would make an exit code of it before its text is shown, and `python -m` would
    end by the signal where a plain one has passed an `exec` of text, as in the making of a dataclass.
    """


def guarded(command: Callable[[], None]) -> None:
    """Run `command` as the last thing that a process does.

    Ctrl-C, SIGTERM and the end of the terminal are one line and exit code 130, a second one ends at once. Work that can
    save itself listens itself meanwhile (`stop_asked`), and ends with an error that the command makes a `Stopped` of.
    """
    received: list[int] = []
    before = sys.unraisablehook

    def stop(number: int, frame: FrameType | None) -> None:
        if received:
            with suppress(OSError):
                os.write(2, b"interrupted\n")  # it may have come while something else is printed
            os._exit(INTERRUPTED)
        received.append(number)
        raise Stopped

    def lost(error: Any) -> None:
        """Python calls it with an error of a destructor or a callback, which it lets no one see."""
        if not isinstance(error.exc_value, Stopped):
            before(error)
            return
        number = received.pop() if received else signal.SIGINT
        again = threading.Timer(AGAIN_S, _send_again, (number,))
        again.daemon = True
        again.start()

    sys.unraisablehook = lost
    try:
        try:
            for number in STOPPING:
                if signal.getsignal(number) is not signal.SIG_IGN:  # as a job in the background has it
                    signal.signal(number, stop)
            command()
        finally:
            # The exit code is decided, but the interpreter takes a while to end, and a signal would decide anew.
            for number in STOPPING:
                signal.signal(number, signal.SIG_IGN)
            sys.unraisablehook = before
    except (Stopped, KeyboardInterrupt) as stopped:
        _say(str(stopped))
        sys.exit(INTERRUPTED)
    except Exception:
        if received:  # a library has made an error of its own of it, as Python does where a class is made
            _say("")
            sys.exit(INTERRUPTED)
        raise


def _send_again(number: int) -> None:
    """To the main thread, which may be asleep."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:  # Windows
        signal.raise_signal(number)


def _say(text: str) -> None:
    """The line; a terminal that was closed takes none."""
    with suppress(OSError, ValueError):
        sys.stderr.write(f"interrupted{f'; {text}' if text else ''}\n")
        sys.stderr.flush()
