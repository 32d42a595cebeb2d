"""What waits for a piece on another machine: the piece is done by a process of its own, which can be stopped."""

from __future__ import annotations

from dmafl.experiments.executors.executor import Ending
from dmafl.experiments.executors.piece_process import PieceProcess
from dmafl.experiments.executors.surroundings import Surroundings


class PieceHost:
    """Has pieces done, one after another. The process stays; one that ended is replaced."""

    def __init__(self, surroundings: Surroundings) -> None:
        surroundings.set_environment()
        self._surroundings = surroundings
        self._process: PieceProcess | None = None

    def do(self, content: bytes) -> Ending:
        """How the piece ended; waits for it."""
        process = self._process
        while process is None or not (process.alive and process.begin(content)):
            process = self._process = PieceProcess(self._surroundings)
        return process.answer()

    @property
    def was_stopped(self) -> bool:
        """Whether the last piece ended because its process was asked to end."""
        return self._process is not None and self._process.was_stopped

    def terminate(self) -> None:
        """Let the piece under way save itself; `do` returns when it has."""
        if self._process is not None:
            self._process.terminate()

    def close(self) -> None:
        """End the process, which has no piece any more."""
        if self._process is not None:
            self._process.kill()
            self._process.join()

    def stop(self) -> None:
        """Let the piece under way save itself, and wait for it."""
        self.terminate()
        if self._process is not None:
            self._process.join()
