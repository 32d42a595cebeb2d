"""A process that does one piece of work after another, and lets a piece save itself when it is to end."""

from __future__ import annotations

import os
import pickle
import signal
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection
from types import FrameType

from dmafl.base.errors import BadInput, ShownAsIs, bad_input, file_trouble
from dmafl.base.processes.shielded import SignalShieldedContext, SignalShieldedProcess
from dmafl.base.processes.stopping import STOPPING, Interrupted
from dmafl.experiments.executors.executor import Ending, Order, Work
from dmafl.experiments.executors.surroundings import Surroundings

STOPPED = 130
"""Exit code of a process that was stopped and whose piece has saved itself."""
BATCH_SIGNALS = ("SIGUSR1", "SIGUSR2", "SIGCONT")
"""What a batch system may send to all processes of a job; the one that waits for the piece answers."""


def content_of(work: Work, order: Order) -> bytes:
    """An order as it is sent to another process."""
    try:
        return pickle.dumps((work, order))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise bad_input(
            "components",
            "must be picklable where other processes do the work",
            ShownAsIs(str(error)),
            "Define classes and functions of your own at the top of a module, or use one local worker.",
        ) from None


class PieceProcess:
    """A process that waits for pieces. Libraries are loaded once, and data sets that it has read stay."""

    def __init__(self, surroundings: Surroundings | None = None) -> None:
        """`surroundings`: those of the command, for a process on another machine."""
        self.pipe, there = SignalShieldedContext().Pipe()
        self._process = SignalShieldedProcess(target=serve, args=(there, surroundings))
        self._process.start()
        there.close()  # only the process has it now, so that its death ends the pipe

    @property
    def alive(self) -> bool:
        """Whether it can take a piece."""
        return self._process.is_alive()

    def begin(self, content: bytes) -> bool:
        """Send it a piece; False if it has ended since the last one."""
        try:
            self.pipe.send_bytes(content)
        except ConnectionError:
            self._process.join()
            return False
        return True

    def answer(self) -> Ending:
        """How its piece ended; waits for it."""
        with suppress(EOFError, OSError):
            ending: Ending
            ending, goes_on = self.pipe.recv()
            if not goes_on:
                self._process.join()
            return ending
        self._process.join()
        return Ending(_death(self._process.exitcode), lost=True)

    @property
    def was_stopped(self) -> bool:
        """Whether it has ended because someone asked it to."""
        return self._process.exitcode == STOPPED

    def terminate(self) -> None:
        """Let its piece save itself, after which it ends."""
        self._process.terminate()

    def join(self) -> None:
        """Wait for its end."""
        self._process.join()

    def dismiss(self) -> None:
        """Let it end as soon as it has no piece."""
        self.pipe.close()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()


def serve(pipe: Connection, surroundings: Surroundings | None = None) -> None:
    """What the process does until it is dismissed.

    It stops when it is asked to by the one that started it, not by the terminal.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        raise Interrupted

    # The process begins with the signals blocked. One that was sent since is waiting, and must not get lost now.
    signal.signal(signal.SIGTERM, stop)
    batch = {getattr(signal, name) for name in BATCH_SIGNALS if hasattr(signal, name)}
    for number in (set(STOPPING) | batch) - {signal.SIGTERM}:
        signal.signal(number, signal.SIG_IGN)
    try:
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        try:
            if surroundings is not None:
                surroundings.enter()
        except BadInput as error:
            pipe.recv_bytes()
            pipe.send((Ending(of_all=error), False))
            return
        while True:
            try:
                content = pipe.recv_bytes()
            except EOFError:
                return
            ending, goes_on = _done(content)
            try:
                pipe.send((ending, goes_on))
            except ConnectionError:  # it was dismissed since
                return
            if not goes_on:
                return
    except KeyboardInterrupt:
        os._exit(STOPPED)


def _done(content: bytes) -> tuple[Ending, bool]:
    """How a piece ended; and whether this process can do another one."""
    try:
        work, order = pickle.loads(content)
    except Exception as error:  # noqa: BLE001  whatever the modules of the user's own do
        return Ending(of_all=_unreadable(error)), False
    try:
        work(order)
    except BadInput as error:
        return Ending(str(error)), True
    except OSError as error:
        return Ending(of_all=file_trouble(error)), True
    except MemoryError:
        return Ending("its process had not enough memory", lost=True), False
    except Exception as error:  # noqa: BLE001  other pieces may do: this one says why it cannot
        traceback.print_exc()
        return Ending(f"it ended with {type(error).__name__}: {error}"), False
    return Ending(), True


def _unreadable(error: Exception) -> BadInput:
    return bad_input(
        "components",
        "must be importable where pieces are done",
        ShownAsIs(f"{type(error).__name__}: {error}"),
        "Put classes and functions of your own into a module that every machine finds, e.g. with PYTHONPATH.",
    )


def _death(code: int | None) -> str:
    if code is not None and code < 0:
        return f"its process was ended by signal {-code}, perhaps for want of memory"
    return f"its process ended with code {code}"
