"""Work that is independent, each piece in a process of its own, some at a time, all stopped together."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from types import FrameType
from typing import Any, TypeVar

from dmafl.base.errors import BadInput, bad_input, file_trouble
from dmafl.base.processes.shielded import SignalShieldedContext, SignalShieldedProcess
from dmafl.base.processes.stopping import STOPPING, Interrupted, stop_asked

LOOK_EVERY_S = 0.2
STOPPED = 130
Order = TypeVar("Order")
OnEnd = Callable[[Order, str], None]
"""Called when a piece has ended, with why it failed; with nothing if it is done."""


def side_by_side(
    work: Callable[[Order], None],
    orders: Sequence[Order],
    workers: int,
    on_end: OnEnd[Order],
    begun: Callable[[Order], None] = lambda order: None,
) -> None:
    """Do `work` for every order, `workers` at a time; bad input of one piece does not stop the others.

    A disk that is full or a file that cannot be written does: all are stopped, and the error is raised. Ctrl-C and
    SIGTERM let every piece save itself, as `stop_asked` does, and raise `Interrupted`. With one worker all is done in
    this process; else `work` must be importable, and orders picklable.
    """
    if workers < 1:
        raise bad_input("workers", "must be >= 1", workers, "Use as many as there are cores.")
    if workers == 1:
        for order in orders:
            begun(order)
            on_end(order, _outcome_of(work, order))
    else:
        _in_processes(work, orders, workers, on_end, begun)


def _outcome_of(work: Callable[[Order], None], order: Order) -> str:
    try:
        work(order)
    except BadInput as error:
        return str(error)
    return ""


def _in_processes(
    work: Callable[[Order], None],
    orders: Sequence[Order],
    workers: int,
    on_end: OnEnd[Order],
    begun: Callable[[Order], None],
) -> None:
    context = SignalShieldedContext()
    waiting = list(reversed(orders))
    active: dict[int, tuple[SignalShieldedProcess, Order, Connection]] = {}
    with stop_asked() as asked:
        try:
            while waiting or active:
                while waiting and len(active) < workers and not asked():
                    order = waiting.pop()
                    here, there = context.Pipe(duplex=False)
                    process = SignalShieldedProcess(target=_piece, args=(work, order, there))
                    process.start()
                    there.close()
                    active[process.sentinel] = (process, order, here)
                    begun(order)
                if asked():
                    _stop([process for process, _, _ in active.values()])
                    raise Interrupted
                for sentinel in wait(list(active), timeout=LOOK_EVERY_S):
                    assert isinstance(sentinel, int)
                    process, order, here = active.pop(sentinel)
                    process.join()
                    if asked():  # a piece that was stopped has not failed
                        continue
                    problem = _message(here, process.exitcode)
                    if isinstance(problem, BadInput):
                        _stop([process for process, _, _ in active.values()])
                        raise problem
                    on_end(order, problem)
        finally:  # nothing is left of it after a second Ctrl-C either
            for process, _, _ in active.values():
                process.kill()


def _stop(processes: Sequence[SignalShieldedProcess]) -> None:
    """Let every process save itself, and wait for it."""
    for process in processes:
        process.terminate()
    for process in processes:
        process.join()


def _message(connection: Connection, code: int | None) -> str | BadInput:
    """Why a piece failed, nothing if it did not; `BadInput` if the others would fail for the same reason."""
    with suppress(EOFError, OSError):
        if connection.poll():
            problem: str | BadInput = connection.recv()
            return problem
    if code is not None and code < 0:
        return f"its process was ended by signal {-code}, perhaps for want of memory"
    return "" if code == 0 else f"its process ended with code {code}"


def _piece(work: Callable[[Any], None], order: Any, tell: Connection) -> None:
    """What a process does. It stops when it is asked to by the one that started it, not by the terminal."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Interrupted

    # Never ignored, not even for a moment: a SIGTERM that came while this process still began would be forgotten.
    signal.signal(signal.SIGTERM, stop)
    for number in set(STOPPING) - {signal.SIGTERM}:
        signal.signal(number, signal.SIG_IGN)
    problem: str | BadInput
    try:
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        problem = _outcome_of(work, order)
    except KeyboardInterrupt:
        os._exit(STOPPED)
    except OSError as error:
        problem = file_trouble(error)
    except MemoryError:
        problem = "its process had not enough memory"
    if problem:
        tell.send(problem)
