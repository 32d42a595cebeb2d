"""How planning goes: objective, violation and gap against effort; a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

from rich.console import Console
from rich.live import Live
from rich.text import Text

from dmafl.planning.effort import Progress
from dmafl.reports.numbers import number
from dmafl.reports.terminal.console import console


class PlanView:
    """Watches a solver."""

    def __init__(self, out: Console | None = None, bound: float | None = None) -> None:
        self._console = out if out is not None else console()
        self._bound = bound
        self._live = Live(console=self._console, transient=True, auto_refresh=False)

    def __enter__(self) -> PlanView:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def __call__(self, progress: Progress) -> None:
        """Show where the solver is."""
        gap = ""
        if self._bound is not None and progress.objective > 0:
            gap = f"  gap <= {1 - self._bound / progress.objective:.1%}"
        text = (
            f"effort {progress.effort:6.1f}  {progress.stage:<12} objective {number(progress.objective)}"
            f"  violation {progress.violation:.1e}{gap}"
        )
        if self._console.is_terminal:
            self._live.update(Text(text), refresh=True)
        else:
            self._console.print(text)
