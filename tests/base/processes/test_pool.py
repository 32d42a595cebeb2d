"""Worker processes that are killed at any moment: nobody waits for ever, and nobody is left."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import Future, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from dmafl.base.errors import BadInput, bad_input
from dmafl.base.processes.pool import WorkerPool
from dmafl.training.workers import ignore_signals, process_pool
from support.patience import wait_until
from support.processes import gone

LIMIT_S = 60.0
LARGE = 60_000_000
"""Bytes of a message that takes a while to send."""


def echo(given: Any) -> Any:
    return given


def own_number(seconds: float = 0.0) -> int:
    time.sleep(seconds)
    return os.getpid()


def die_while_sending(after_s: float) -> bytes:
    """The result is on its way when the process is killed."""
    threading.Timer(after_s, os.kill, (os.getpid(), signal.SIGKILL)).start()
    return b"x" * LARGE


def refuse(name: str) -> None:
    raise bad_input(name, "must be another one", name, "Choose another one.")


class OnlyHere:
    """Cannot be sent."""

    def __reduce__(self) -> Any:
        raise TypeError("only here")


class Unreadable(Exception):
    """Can be sent, not read."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(first)


def fail_unreadably() -> None:
    raise Unreadable("one", "two")


def result(future: Future[Any]) -> Any:
    return future.result(timeout=LIMIT_S)


@pytest.mark.usefixtures("new_workers")
def test_results_come_back_from_several_processes() -> None:
    with process_pool(2, ignore_signals) as pool:
        assert [result(future) for future in [pool.submit(echo, i) for i in range(20)]] == list(range(20))
        numbers = {result(future) for future in [pool.submit(own_number, 0.2) for _ in range(6)]}
    assert len(numbers) == 2
    gone(list(numbers))


def test_no_more_processes_than_work() -> None:
    with process_pool(4, ignore_signals) as pool:
        numbers = {result(pool.submit(own_number)) for _ in range(5)}
    assert len(numbers) == 1


def test_errors_travel_with_their_place() -> None:
    with process_pool(1, ignore_signals) as pool:
        with pytest.raises(BadInput, match="must be another one") as raised:
            result(pool.submit(refuse, "name"))
        assert "in refuse" in "".join(raised.value.__notes__)
        with pytest.raises(TypeError, match="only here"):
            result(pool.submit(echo, OnlyHere()))
        with pytest.raises(TypeError, match="only here"):
            result(pool.submit(OnlyHere))
        with pytest.raises(TypeError, match="second"):
            result(pool.submit(fail_unreadably))
        assert result(pool.submit(echo, 1)) == 1, "the process goes on"


@pytest.mark.usefixtures("new_workers")
@pytest.mark.parametrize("after_s", [0.01, 0.03, 0.06])
def test_a_process_killed_while_it_sends(after_s: float) -> None:
    """A pool with one pipe for all results waits for the rest of the message for ever."""
    with process_pool(2, ignore_signals) as pool:
        pending = [pool.submit(echo, 1), *(pool.submit(die_while_sending, after_s) for _ in range(2))]
        pending += [pool.submit(own_number, 0.01) for _ in range(20)]
        ended = wait(pending, timeout=LIMIT_S)
        assert not ended.not_done
        assert any(isinstance(future.exception(), BrokenProcessPool) for future in pending)
        with pytest.raises(BrokenProcessPool):
            pool.submit(echo, 1)


@pytest.mark.parametrize("after_s", [0.0, 0.01, 0.1])
def test_a_stop_while_large_messages_travel(after_s: float) -> None:
    with pytest.raises(KeyboardInterrupt), process_pool(2, ignore_signals) as pool:
        numbers = {result(future) for future in [pool.submit(own_number, 0.1) for _ in range(2)]}
        for _ in range(40):
            pool.submit(echo, b"x" * (LARGE // 20))
        time.sleep(after_s)
        began = time.monotonic()
        raise KeyboardInterrupt
    assert time.monotonic() - began < LIMIT_S
    gone(list(numbers))


def test_a_process_that_cannot_begin() -> None:
    with process_pool(2, refuse, "name") as pool, pytest.raises(BrokenProcessPool):
        result(pool.submit(echo, 1))


def test_orders_taken_back_are_not_carried_out(tmp_path: Path) -> None:
    pool = WorkerPool(1, ignore_signals)
    first = pool.submit(own_number, 0.5)
    second, third = (pool.submit((tmp_path / name).touch) for name in ("second", "third"))
    wait_until(first.running, "the first order")
    assert second.cancel()
    pool.shutdown(cancel_futures=True)
    assert third.cancelled()
    assert result(first) != os.getpid()
    assert not list(tmp_path.iterdir())
    with pytest.raises(RuntimeError, match="shut down"):
        pool.submit(echo, 1)
