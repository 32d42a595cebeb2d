"""A run on this machine whose workers die goes on from where it was saved, three times at most."""

from __future__ import annotations

from typing import Any

import pytest

from dmafl.base.errors import BadInput
from dmafl.experiments.executors.side_by_side import ATTEMPTS
from dmafl.experiments.run import here
from dmafl.experiments.run.side_by_side import WorkersDied


def done(monkeypatch: pytest.MonkeyPatch, deaths: list[tuple[str, ...]]) -> int:
    """How often runs are taken up whose workers die, each time while the runs named are under way."""
    times = 0

    def once(means: Any, progress: Any, names: Any, failures: list[BadInput]) -> None:
        nonlocal times
        times += 1
        assert names == ["a", "b"]
        if times <= len(deaths):
            raise WorkersDied(deaths[times - 1])

    monkeypatch.setattr(here, "_once", once)
    assert here.run_here(None, None, ["a", "b"]) == []  # type: ignore[arg-type]
    return times


def test_runs_are_taken_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert done(monkeypatch, []) == 1
    assert done(monkeypatch, [("a",), ("a", "b"), ("b",)]) == 4


@pytest.mark.parametrize("deaths", [[("a",), ("b",), ("a", "b"), ("a",)], [()]])
def test_a_run_whose_workers_always_die_ends_the_command(
    monkeypatch: pytest.MonkeyPatch, deaths: list[tuple[str, ...]]
) -> None:
    with pytest.raises(BadInput, match=f"must stay alive while a run goes; got .* killed {ATTEMPTS} times"):
        done(monkeypatch, deaths)
