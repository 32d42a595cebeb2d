"""The live view of a run: bars with amounts on a terminal, one line per scheme run elsewhere."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from dmafl.base.watching import Amount, PieceProgress
from dmafl.reports.terminal import live_view
from dmafl.reports.terminal.live_view import LiveView

KIND = "scheme runs"
EVENTS = 1000


def shown(terminal: bool) -> tuple[str, int]:
    """What a run of two schemes prints, and how often its progress was computed."""
    asked = 0

    def progress() -> PieceProgress:
        nonlocal asked
        asked += 1
        amounts = (Amount("time", 12345.0, "s"), Amount("energy", None, "J"), Amount("digits", 0.75))
        return PieceProgress(3, 8, amounts)

    out = io.StringIO()
    with LiveView(Console(file=out, force_terminal=terminal, width=200)) as view:
        view.total(KIND, 2, 0)
        for name in ("fedasync-s0", "fedbuff-s0"):
            view.stage(name, "waiting")
        view.begun(KIND, "fedasync-s0")
        for _ in range(EVENTS):
            view.advanced(KIND, "fedasync-s0", progress)
        view._progress.refresh()
        view.ended(KIND, "fedasync-s0")
        view.ended(KIND, "fedbuff-s0", "no plan for this seed")
    return out.getvalue(), asked


def test_elsewhere_one_line_per_scheme_run() -> None:
    text, _ = shown(terminal=False)
    assert text == "fedasync-s0: finished\nfedbuff-s0: failed: no plan for this seed\n"


def test_a_terminal_shows_amounts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_view, "REFRESH_S", 1e-9)
    text, _ = shown(terminal=True)
    for part in ("waiting", "3/8", "time 12,345 s  energy not measured  digits 0.75", "failed: no plan"):
        assert part in text


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_is_computed_only_when_it_is_shown(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_view, "REFRESH_S", 1e9)
    assert shown(terminal)[1] == 1, "once, at the first event, for the rate"
