"""What every executor can do, and how a piece of work ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from dmafl.base.errors import BadInput

Order = Any
"""A piece of work as the caller knows it. Its `goes_on`, where it has one, says whether it goes on where it was
stopped; without, it is done from its start again."""
Work = Callable[[Any], None]
"""What is done for every order; importable, so that other processes find it."""
OnEnd = Callable[[Any, str], None]
"""Called when a piece has ended, with why it failed; with nothing if it is done."""
Begun = Callable[[Any], None]


@dataclass(frozen=True)
class Ending:
    """How a piece ended: well, if it says nothing."""

    problem: str = ""
    """Why it failed."""
    of_all: BadInput | None = None
    """Trouble that every other piece would have too: all are stopped."""
    lost: bool = False
    """Whether its process died before the piece was done, so that it may be done again."""


class Executor(Protocol):
    """Where pieces are done. A frozen value: nothing is started before there is work."""

    @property
    def name(self) -> str:
        """Its name in the registry."""
        ...

    def side_by_side(
        self,
        work: Work,
        orders: Sequence[Order],
        workers: int | None,
        on_end: OnEnd,
        begun: Begun,
        folder: Path,
    ) -> None:
        """Do `work` for every order; bad input of one piece does not stop the others.

        `workers` pieces at a time; None: as many as there are places. `folder` takes what the executor must keep while
        the work goes, in a folder of its own that is removed at the end.

        A piece whose process dies is done again, a few times. A disk that is full or a file that cannot be written
        stops all, and the error is raised. Ctrl-C and SIGTERM let every piece save itself, and raise `Interrupted`.
        """
        ...


class Crew(Protocol):
    """What an executor has at work while pieces are done; pieces are known by their numbers."""

    @property
    def places(self) -> int:
        """How many pieces it takes at a time."""
        ...

    def begin(self, number: int, order: Order) -> None:
        """Begin a piece, on a free place."""
        ...

    def ended(self, patience_s: float) -> list[tuple[int, Ending]]:
        """Pieces that have ended since; waits for one, at most a moment."""
        ...

    def stop(self) -> None:
        """Let every piece under way save itself, and wait for it."""
        ...

    def close(self, orderly: bool) -> None:
        """Leave nothing behind; `orderly`: all pieces have ended."""
        ...
