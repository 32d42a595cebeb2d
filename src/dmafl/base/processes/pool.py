"""Worker processes that can be killed at any moment without blocking those that wait for them.

`concurrent.futures.ProcessPoolExecutor` has one pipe for the results of all workers, and a lock around it. A worker
that is killed while it sends leaves half a message in the pipe and keeps the lock, so all others wait for ever. Here
every worker has its own pipe, whose other end no other process has: when the worker dies, that pipe ends.
"""

from __future__ import annotations

import queue
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

from dmafl.base.processes.shielded import SignalShieldedContext

Order = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
_GONE = "a worker process has ended before its work was done"


class WorkerPool(Executor):
    """Runs functions in up to `count` processes; one is started when there is work and no process is idle.

    Every process calls `prepare(*arguments)` first. When a process ends by itself, all results that are not there yet
    raise `BrokenProcessPool`, and so does everything submitted later.
    """

    def __init__(self, count: int, prepare: Callable[..., None], *arguments: Any) -> None:
        self._count, self._prepare, self._prepare_arguments = count, prepare, arguments
        self._context = SignalShieldedContext()
        self._orders: queue.SimpleQueue[tuple[Future[Any], Order] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._unfinished = 0
        self._is_broken = self._is_closed = False

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Order `function(*arguments, **named)`; all of it must be picklable."""
        future: Future[Any] = Future()
        with self._lock:
            if self._is_broken:
                raise BrokenProcessPool(_GONE)
            if self._is_closed:
                raise RuntimeError("cannot submit to a pool that is shut down")
            self._orders.put((future, (function, arguments, named)))
            self._unfinished += 1
            if len(self._threads) < min(self._unfinished, self._count):
                self._start()
        return future

    def kill(self) -> None:
        """End all processes at once; results that are not there yet raise `BrokenProcessPool`."""
        with self._lock:
            self._is_broken = True
            self._context.kill()
            for future in self._dropped():
                if future.set_running_or_notify_cancel():
                    future.set_exception(BrokenProcessPool(_GONE))
            self._end_threads()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no more orders; those that wait are carried out, or dropped with `cancel_futures`."""
        with self._lock:
            self._is_closed = True
            if cancel_futures:
                for future in self._dropped():
                    future.cancel()
            self._end_threads()
        if wait:
            for thread in self._threads:
                thread.join()

    def _start(self) -> None:
        """One more process, and a thread that gives it orders."""
        pipe, workers_end = self._context.Pipe()
        process = self._context.Process(
            target=_serve, args=(workers_end, self._prepare, self._prepare_arguments)
        )
        process.start()
        workers_end.close()  # only the process has it now, so that its death ends the pipe
        thread = threading.Thread(target=self._give, args=(pipe, process), name="worker", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _give(self, pipe: Connection, process: Any) -> None:
        """Give orders to a process, one after another, until there are no more or it is gone."""
        while (item := self._orders.get()) is not None:
            future, order = item
            if future.set_running_or_notify_cancel():
                try:
                    self._carry_out(pipe, future, order)
                except (EOFError, OSError):
                    future.set_exception(BrokenProcessPool(_GONE))
                    self.kill()  # the cause is unknown: it may affect the other processes too
                    break
            with self._lock:
                self._unfinished -= 1
        pipe.close()  # the process sees it, and ends
        process.join()

    @staticmethod
    def _carry_out(pipe: Connection, future: Future[Any], order: Order) -> None:
        try:
            content = ForkingPickler.dumps(order)
        except Exception as error:  # noqa: BLE001  what cannot be sent is the caller's error
            future.set_exception(error)
            return
        pipe.send_bytes(content)
        answer = pipe.recv_bytes()
        try:
            is_well, result = ForkingPickler.loads(answer)
        except Exception as error:  # noqa: BLE001  likewise
            is_well, result = False, error
        if is_well:
            future.set_result(result)
        else:
            future.set_exception(result)

    def _dropped(self) -> Iterator[Future[Any]]:
        """Withdraws all orders that no process has begun."""
        with suppress(queue.Empty):
            while True:
                item = self._orders.get_nowait()
                if item is not None:
                    yield item[0]

    def _end_threads(self) -> None:
        for _ in self._threads:
            self._orders.put(None)


def _serve(pipe: Connection, prepare: Callable[..., None], prepare_arguments: tuple[Any, ...]) -> None:
    """What a process does: carry out orders until the pipe ends."""
    prepare(*prepare_arguments)
    while True:
        try:
            function, arguments, named = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            content = ForkingPickler.dumps((True, function(*arguments, **named)))
        except Exception as error:  # noqa: BLE001  it is raised again where the result is asked for
            content = ForkingPickler.dumps((False, _with_trace(error)))
        try:
            pipe.send_bytes(content)
        except OSError:  # no one waits for it any more
            return


def _with_trace(error: Exception) -> Exception:
    """The error with its traceback as a note, which is sent with it; a `RuntimeError` if it cannot be pickled."""
    where = "".join(traceback.format_exception(error))
    try:
        ForkingPickler.dumps(error)
    except Exception:  # noqa: BLE001
        error = RuntimeError(f"{type(error).__name__}: {error}")
    error.add_note(f"in a worker process:\n{where}")
    return error
