"""Work that is independent, some pieces at a time in processes that stay, all stopped together.

A process does one piece after the other: libraries are loaded once. One that ended, for whatever reason, is replaced.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
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


@dataclass(frozen=True, eq=False)
class _Worker:
    """A process, and the pipe to it."""

    process: SignalShieldedProcess
    pipe: Connection

    def answer(self) -> str | BadInput:
        """Why its piece failed, nothing if it did not; `BadInput` if others would fail for the same reason."""
        with suppress(EOFError, OSError):
            if self.pipe.poll():
                problem: str | BadInput
                problem, goes_on = self.pipe.recv()
                if not goes_on:
                    self.process.join()
                return problem
        self.process.join()
        code = self.process.exitcode
        if code is not None and code < 0:
            return f"its process was ended by signal {-code}, perhaps for want of memory"
        return f"its process ended with code {code}"


def _in_processes(
    work: Callable[[Order], None],
    orders: Sequence[Order],
    workers: int,
    on_end: OnEnd[Order],
    begun: Callable[[Order], None],
) -> None:
    context = SignalShieldedContext()
    waiting = list(reversed(orders))
    staff: list[_Worker] = []
    active: list[tuple[_Worker, Order]] = []
    with stop_asked() as asked:
        try:
            while waiting or active:
                while waiting and len(active) < workers and not asked():
                    worker = _free(staff, [busy for busy, _ in active], context, work)
                    try:
                        worker.pipe.send(waiting[-1])
                    except ConnectionError:  # it ended since: another one does the piece
                        worker.process.join()
                        continue
                    order = waiting.pop()
                    active.append((worker, order))
                    begun(order)
                if asked():
                    _stop(staff)
                    raise Interrupted
                for worker, order in _ended(active):
                    if asked():  # a piece that was stopped has not failed
                        continue
                    active = [(busy, piece) for busy, piece in active if busy is not worker]
                    problem = worker.answer()
                    if isinstance(problem, BadInput):
                        _stop(staff)
                        raise problem
                    on_end(order, problem)
            _dismiss(staff)
        finally:  # nothing is left of it after a second Ctrl-C either
            for worker in staff:
                worker.process.kill()


def _free(
    staff: list[_Worker],
    busy: Sequence[_Worker],
    context: SignalShieldedContext,
    work: Callable[[Order], None],
) -> _Worker:
    """A worker that waits for a piece, or a new one; those that have ended are forgotten."""
    staff[:] = [worker for worker in staff if worker in busy or worker.process.is_alive()]
    for worker in staff:
        if worker not in busy:
            return worker
    here, there = context.Pipe()
    process = SignalShieldedProcess(target=_worker, args=(work, there))
    process.start()
    there.close()
    staff.append(_Worker(process, here))
    return staff[-1]


def _ended(active: Sequence[tuple[_Worker, Order]]) -> list[tuple[_Worker, Order]]:
    """Pieces whose worker has answered or has ended, at most a moment later."""
    ready = wait([worker.pipe for worker, _ in active], timeout=LOOK_EVERY_S)
    return [(worker, order) for worker, order in active if worker.pipe in ready]


def _dismiss(staff: Sequence[_Worker]) -> None:
    """Let workers that have no piece end."""
    for worker in staff:
        worker.pipe.close()
    for worker in staff:
        worker.process.join()


def _stop(staff: Sequence[_Worker]) -> None:
    """Let every process save itself, and wait for it."""
    for worker in staff:
        worker.process.terminate()
    for worker in staff:
        worker.process.join()


def _worker(work: Callable[[Any], None], pipe: Connection) -> None:
    """What a process does until it is dismissed: piece after piece.

    It stops when it is asked to by the one that started it, not by the terminal.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        raise Interrupted

    # Never ignored, not even for a moment: a SIGTERM that came while this process still began would be forgotten.
    signal.signal(signal.SIGTERM, stop)
    for number in set(STOPPING) - {signal.SIGTERM}:
        signal.signal(number, signal.SIG_IGN)
    try:
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        while True:
            try:
                order = pipe.recv()
            except EOFError:
                return
            problem, goes_on = _done(work, order)
            pipe.send((problem, goes_on))
            if not goes_on:
                return
    except KeyboardInterrupt:
        os._exit(STOPPED)


def _done(work: Callable[[Any], None], order: Any) -> tuple[str | BadInput, bool]:
    """Why a piece failed, nothing if it did not; and whether this process can do another one."""
    try:
        return _outcome_of(work, order), True
    except OSError as error:
        return file_trouble(error), True
    except MemoryError:
        return "its process had not enough memory", False
