"""How profiling a machine goes: a bar for the repeats of each task, plain lines where there is no terminal."""

from __future__ import annotations

from dmafl.reports.terminal.bars import Bars


class ProfileView(Bars):
    """A watcher of `dmafl.profile`."""

    def total(self, name: str, pieces: int, done: int) -> None:
        """Set the bar of a task to its repeats."""
        self._progress.update(self._bar(name), completed=done, total=pieces, note="repeats")
        self._progress.start_task(self._bar(name))
        self._say(f"{name}: {pieces:,} repeats")

    def ended(self, name: str, piece: str, problem: str = "") -> None:
        """Move the bar of a task."""
        self._progress.advance(self._bar(name))
