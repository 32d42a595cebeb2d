"""Pieces done on this machine: one after another in this process, or side by side in processes that stay.

A process does one piece after the other: libraries are loaded once. One that ended, for whatever reason, is replaced.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path

from dmafl.base.errors import BadInput, bad_input
from dmafl.experiments.executors.executor import Begun, Ending, Executor, OnEnd, Order, Work
from dmafl.experiments.executors.piece_process import PieceProcess, content_of
from dmafl.experiments.executors.side_by_side import side_by_side


@dataclass(frozen=True)
class Local:
    """This machine."""

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return "local"

    def side_by_side(
        self,
        work: Work,
        orders: Sequence[Order],
        workers: int | None,
        on_end: OnEnd,
        begun: Begun,
        folder: Path,
    ) -> None:
        """Do `work` for every order; with one worker, or None, in this process."""
        workers = check_workers(workers) or 1
        if workers > 1:
            side_by_side(_LocalCrew(work, workers), orders, on_end, begun)
            return
        for order in orders:
            begun(order)
            on_end(order, _outcome_of(work, order))


def processes_here(on: Executor, workers: int | None) -> int:
    """How many processes of this machine compute what is needed before pieces can be done."""
    check_workers(workers)
    cores = os.cpu_count() or 1
    return (workers or 1) if isinstance(on, Local) else min(workers or cores, cores)


def check_workers(workers: int | None) -> int | None:
    """Refuse fewer than one."""
    if workers is not None and workers < 1:
        raise bad_input("workers", "must be >= 1", workers, "Use as many as there are cores.")
    return workers


def _outcome_of(work: Work, order: Order) -> str:
    try:
        work(order)
    except BadInput as error:
        return str(error)
    return ""


class _LocalCrew:
    """Processes of this machine."""

    def __init__(self, work: Work, places: int) -> None:
        self.places = places
        self._work = work
        self._free: list[PieceProcess] = []
        self._busy: dict[int, PieceProcess] = {}

    def begin(self, number: int, order: Order) -> None:
        """Begin a piece."""
        content = content_of(self._work, order)
        process = self._next()
        while not process.begin(content):  # it ended since: another one does the piece
            process = self._next()
        self._busy[number] = process

    def ended(self, patience_s: float) -> list[tuple[int, Ending]]:
        """Pieces whose process has answered or has ended."""
        ready = wait([process.pipe for process in self._busy.values()], timeout=patience_s)
        numbers = [number for number, process in self._busy.items() if process.pipe in ready]
        endings = []
        for number in numbers:
            process = self._busy.pop(number)
            self._free.append(process)
            endings.append((number, process.answer()))
        return endings

    def stop(self) -> None:
        """Let every process save itself, and wait for it."""
        for process in self._all:
            process.terminate()
            process.dismiss()  # one whose piece could not save itself would wait for another piece
        for process in self._all:
            process.join()

    def close(self, orderly: bool) -> None:
        """Let processes that have no piece end, and end the others."""
        for process in self._all:
            if orderly:
                process.dismiss()
            else:
                process.kill()
        for process in self._all:
            process.join()

    @property
    def _all(self) -> list[PieceProcess]:
        return [*self._free, *self._busy.values()]

    def _next(self) -> PieceProcess:
        """A process that waits for a piece, or a new one; those that have ended are forgotten."""
        while self._free:
            process = self._free.pop()
            if process.alive:
                return process
        return PieceProcess()
