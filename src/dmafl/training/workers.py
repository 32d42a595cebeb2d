"""Where results are computed: in this process when one is asked for, or in worker processes as soon as it is ordered.

Results do not depend on it: an order carries everything that decides them, and every process uses one thread.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from dmafl.base.processes.one_thread import ENVIRONMENT
from dmafl.base.processes.pool import WorkerPool
from dmafl.base.processes.stopping import STOPPING
from dmafl.learning.arrays import Vector
from dmafl.learning.divergence import LocalModelDiverged
from dmafl.scenario.model import Scenario
from dmafl.training.components import Components
from dmafl.training.trainer import Tested, TestingOrder, Trainer, TrainingOrder

Answer = TypeVar("Answer")
LOOK_EVERY_S = 0.2
"""How often a wait for workers looks whether it is to stop [s]."""
KEPT_TRAINERS = 2
"""Seeds whose data and networks a process keeps ready."""


class Pending(Protocol[Answer]):  # type: ignore[misc]
    """A result that may still be computed."""

    def done(self) -> bool:
        """Whether `result` returns at once."""
        ...

    def result(self) -> Answer:
        """The result."""
        ...


class Lazy(Generic[Answer]):
    """Computed when asked for, once."""

    def __init__(self, compute: Callable[[], Answer]) -> None:
        self._compute = compute
        self._answer: list[Answer] = []

    def done(self) -> bool:
        """Always: asking is what computes it."""
        return True

    def result(self) -> Answer:
        """The result."""
        if not self._answer:
            self._answer.append(self._compute())
        return self._answer[0]


class Workers(Protocol):
    """Trains and tests for all seeds of a run."""

    def train(self, seed: int, order: TrainingOrder, received: Vector) -> Pending[Vector]:
        """Order a local model; it is not finite where training diverges."""
        ...

    def test(self, seed: int, order: TestingOrder, parameters: Vector) -> Pending[Tested]:
        """Order a test."""
        ...


class Trainers:
    """The trainers of the last few seeds."""

    def __init__(self, scenario: Scenario, components: Components) -> None:
        self._scenario, self._components = scenario, components
        self._made: dict[int, Trainer] = {}

    def of(self, seed: int) -> Trainer:
        """The trainer of `seed`."""
        if seed not in self._made:
            while len(self._made) >= KEPT_TRAINERS:
                del self._made[next(iter(self._made))]
            self._made[seed] = Trainer(self._scenario.model_copy(update={"seed": seed}), self._components)
        return self._made[seed]


class InProcess:
    """Everything in this process."""

    def __init__(self, trainers: Trainers) -> None:
        self._trainers = trainers

    def train(self, seed: int, order: TrainingOrder, received: Vector) -> Pending[Vector]:
        """Order a local model."""
        return Lazy(lambda: _trained(self._trainers, seed, order, received))

    def test(self, seed: int, order: TestingOrder, parameters: Vector) -> Pending[Tested]:
        """Order a test."""
        return Lazy(lambda: _tested(self._trainers, seed, order, parameters))


class Pool:
    """Worker processes, each with trainers of its own."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def train(self, seed: int, order: TrainingOrder, received: Vector) -> Pending[Vector]:
        """Order a local model."""
        return self._executor.submit(_train, seed, order, received)

    def test(self, seed: int, order: TestingOrder, parameters: Vector) -> Pending[Tested]:
        """Order a test."""
        return self._executor.submit(_test, seed, order, parameters)


@contextmanager
def open_workers(
    count: int, trainers: Trainers, scenario: Scenario, components: Components
) -> Iterator[Workers]:
    """This process for `count` = 1, that many worker processes otherwise."""
    if count == 1:
        yield InProcess(trainers)
        return
    with process_pool(count, _prepare, scenario, components) as executor:
        yield Pool(executor)


@contextmanager
def process_pool(count: int, prepare: Callable[..., None], *given: Any) -> Iterator[Executor]:
    """Fresh processes with one thread each, which call `prepare(*given)` first; orders not begun at the end are
    dropped."""
    before = {name: os.environ.get(name) for name in ENVIRONMENT}
    os.environ.update(ENVIRONMENT)
    executor = WorkerPool(count, prepare, *given)
    try:
        yield executor
    except BaseException:
        executor.kill()  # what they compute is not wanted any more
        raise
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def wait_for_one(pending: list[Any], asked: Callable[[], bool]) -> None:
    """Sleep until one of the results is there or a stop is asked for."""
    futures = [result for result in pending if isinstance(result, Future)]
    while futures and not asked():
        if wait(futures, LOOK_EVERY_S, FIRST_COMPLETED).done:
            return


def cancel(pending: Iterable[Any]) -> None:
    """Take orders back that no worker has begun."""
    for result in pending:
        if isinstance(result, Future):
            result.cancel()


_here: Trainers | None = None
"""The trainers of a worker process; set once, when it starts."""


def ignore_signals() -> None:
    """Leave stopping to the main process; to be called first in a worker."""
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)


def _prepare(scenario: Scenario, components: Components) -> None:
    global _here
    ignore_signals()
    _here = Trainers(scenario, components)


def _train(seed: int, order: TrainingOrder, received: Vector) -> Vector:
    assert _here is not None
    return _trained(_here, seed, order, received)


def _test(seed: int, order: TestingOrder, parameters: Vector) -> Tested:
    assert _here is not None
    return _tested(_here, seed, order, parameters)


def _trained(trainers: Trainers, seed: int, order: TrainingOrder, received: Vector) -> Vector:
    """The local model; not a number throughout where training has diverged, as a device would send it."""
    try:
        return trainers.of(seed).train(order, received)
    except LocalModelDiverged:
        return np.full_like(received, np.nan)


def _tested(trainers: Trainers, seed: int, order: TestingOrder, parameters: Vector) -> Tested:
    return trainers.of(seed).test(
        order.task, parameters, order.progress, order.everything, order.local_progress
    )
