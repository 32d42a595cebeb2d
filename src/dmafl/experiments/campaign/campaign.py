"""The engine of sweeps and of the study: keyed pieces of work, of which only those without an outcome are done.

A user of the engine says what its pieces are. The engine finds the pieces that are missing, carries them out side by
side, lets all of them save themselves when it is stopped, and reports the failures. The same call then goes on.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from dmafl.base.watching import Watcher
from dmafl.data.kept import KEPT
from dmafl.experiments.executors.executor import Executor


class Piece(Protocol):
    """A piece of work whose outcome is kept on disk. It must be picklable, since other processes may do it."""

    @property
    def key(self) -> str:
        """Checksum of all that decides the outcome, and the name under which the outcome is kept."""
        ...

    @property
    def name(self) -> str:
        """For a person."""
        ...

    @property
    def goes_on(self) -> bool:
        """Whether it goes on where it was stopped, and not from its start."""
        ...

    def is_done(self) -> bool:
        """Whether a whole outcome is kept. A damaged one counts as none, and is reported."""
        ...

    def tidy(self) -> None:
        """Remove what an interruption left beside an outcome that is kept."""
        ...

    def carry_out(self) -> None:
        """Do the work, or go on with it, and keep its outcome."""
        ...


AnyPiece = TypeVar("AnyPiece", bound=Piece)


def missing(pieces: Sequence[AnyPiece]) -> list[AnyPiece]:
    """The pieces without an outcome, in order and one for each key; temporary files of the others are removed."""
    by_key: dict[str, AnyPiece] = {}
    for piece in pieces:
        by_key.setdefault(piece.key, piece)
    without = []
    for piece in by_key.values():
        if piece.is_done():
            piece.tidy()
        else:
            without.append(piece)
    return without


def carry_out(
    kind: str,
    pieces: Sequence[Piece],
    on: Executor,
    workers: int | None,
    folder: Path,
    watcher: Watcher,
    *,
    there: int = 0,
) -> dict[str, str]:
    """Do all `pieces` on an executor, `workers` at a time; returns why some failed, by key.

    `folder` takes what the executor must keep meanwhile. `kind` is what the watcher calls the pieces, and `there` the
    number of those that were done before. Ctrl-C and SIGTERM let the pieces save themselves and raise `Interrupted`.
    """
    problems: dict[str, str] = {}

    def ended(piece: Piece, problem: str) -> None:
        if problem:
            problems[piece.key] = problem
        watcher.ended(kind, piece.name, problem)

    watcher.total(kind, there + len(pieces), there)
    try:
        on.side_by_side(_work, pieces, workers, ended, lambda piece: watcher.begun(kind, piece.name), folder)
    finally:
        KEPT.forget()  # where this process did the pieces itself
    return problems


def _work(piece: Piece) -> None:
    """What a process does, piece after piece: libraries are loaded and data sets read once."""
    KEPT.keep()
    piece.carry_out()
    gc.collect()  # the data of a piece refer to one another in cycles, and the next piece may be in the same process
