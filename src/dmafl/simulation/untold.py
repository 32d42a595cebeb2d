"""Processes that Ctrl-C and SIGTERM are not for: a terminal and a batch system tell all processes of a job."""

from __future__ import annotations

import signal
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess


class UntoldProcess(SpawnProcess):
    """Begins with both signals blocked, so that they cannot end it while it still imports."""

    def start(self) -> None:
        """Start it; a signal that comes meanwhile reaches this process when it has started."""
        if not hasattr(signal, "pthread_sigmask"):  # Windows
            super().start()
            return
        resource_tracker.ensure_running()  # starting it would unblock them
        before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
        try:
            super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class UntoldContext(SpawnContext):
    """Starts fresh processes that these signals are not for."""

    Process = UntoldProcess
