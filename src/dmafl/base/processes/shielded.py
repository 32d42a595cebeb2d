"""Processes that Ctrl-C and SIGTERM do not reach, and that end with the process that started them.

A terminal and a batch system signal all processes of a job to end, but only the first one can save its state. If that
one dies, for whatever reason, the others have no one to work for, and end too.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from multiprocessing import Pipe, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

from dmafl.base.processes.stopping import STOPPING

ORPHANED = 1
"""Exit code of a process whose parent is gone; no one reads it."""


class SignalShieldedProcess(SpawnProcess):
    """Begins with the signals blocked, so that they cannot end it while it still imports, and ends with its parent."""

    def start(self) -> None:
        """Start it; a signal that comes meanwhile reaches this process when it has started."""
        if not hasattr(signal, "pthread_sigmask"):  # Windows
            super().start()
            return
        resource_tracker.ensure_running()  # starting it would unblock them
        before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
        try:
            super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def __reduce__(self) -> tuple[Callable[..., SignalShieldedProcess], tuple[Connection], dict[str, Any]]:
        # The new process calls `_begun` before it reads the rest, and so before it imports what the work needs.
        return _begun, (_lifeline.other_end(),), self.__dict__


class SignalShieldedContext(SpawnContext):
    """Starts new processes that ignore these signals, and keeps a list of them."""

    def __init__(self) -> None:
        super().__init__()
        self._started: list[SignalShieldedProcess] = []

    def Process(self, *arguments: Any, **named: Any) -> SignalShieldedProcess:  # type: ignore[override]
        """A process of this context."""
        process = SignalShieldedProcess(*arguments, **named)
        self._started.append(process)
        return process

    def kill(self) -> None:
        """End all processes of this context at once."""
        for process in self._started:
            if process.pid is not None and process.is_alive():
                process.kill()


class _Lifeline:
    """A pipe that is never written to: a child that reads its other end notices that this process is gone."""

    def __init__(self) -> None:
        self._owner = -1

    def other_end(self) -> Connection:
        """The end that a child gets; all children of this process share one pipe."""
        if self._owner != os.getpid():  # not made yet, or made before a fork and so the parent's
            self._owner = os.getpid()
            self._there, self._here = Pipe(duplex=False)
        return self._there


_lifeline = _Lifeline()


def _begun(lifeline: Connection) -> SignalShieldedProcess:
    """In the new process: begin to watch the parent."""
    threading.Thread(target=_end_with, args=(lifeline,), name="parent", daemon=True).start()
    return SignalShieldedProcess.__new__(SignalShieldedProcess)


def _end_with(lifeline: Connection) -> None:
    lifeline.poll(None)  # nothing ever comes: it ends when the other end is closed
    os._exit(ORPHANED)
