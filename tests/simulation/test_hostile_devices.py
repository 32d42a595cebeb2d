"""A run with hostile devices on the virtual clock: its rows can be written, and it ends as it would without them."""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

import numpy as np
import pytest

import dmafl
from dmafl.schemes.registry import scheme_named
from dmafl.schemes.scheme import SchemeContext
from dmafl.server.messages import Arrived, Event
from dmafl.server.updates import UpdateCheck
from dmafl.simulation.clock import VirtualClock
from dmafl.simulation.scheme_run import SchemeRun, _OrderedTraining
from dmafl.training.workers import InProcess, Trainers
from dmafl.world.world import World
from support.brought import run_with
from support.hostile_updates import CLAIMS, MODELS, REPORTS
from support.scripted_transport import Ready
from support.small_runs import components, dataset, scenario, softmax

SMALL = scenario({"one": {"slots": 12}, "two": {"slots": 12}})
WORLD = World.resolve(SMALL)
TRAINERS = Trainers(SMALL, components(SMALL))


class Beset(VirtualClock):
    """Gives every arrival, and before it one that claims another job."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.waiting: deque[Event] = deque()
        self.claims = list(CLAIMS.values())
        self.sent: Counter[str] = Counter()

    def next_event(self, timeout_s: float | None = None) -> Event | None:
        if self.waiting:
            return self.waiting.popleft()
        event = super().next_event(timeout_s)
        if isinstance(event, Arrived):
            self.waiting.append(self.changed(event))
            claim, check = self.claims[self.sent.total() % len(self.claims)]
            self.sent[check.value] += 1
            return Arrived(claim(event.job), event.result, event.period)
        return event

    def changed(self, event: Arrived) -> Arrived:
        return event


class Spoilt(Beset):
    """Every fourth arrival cannot be used, by turns for its model and for its report."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.reports = deque(REPORTS.values())
        self.models = deque(make for make, _ in MODELS.values())

    def changed(self, event: Arrived) -> Arrived:
        turn = self.sent.total() % 8
        if turn == 3:
            self.reports.rotate()
            return Arrived(event.job, event.result, self.reports[0])
        if turn == 7:
            self.models.rotate()
            return Arrived(event.job, Ready(self.models[0]()), event.period)
        return event


def finished(clock: type[VirtualClock]) -> tuple[SchemeRun, list[dict[str, Any]]]:
    workers = InProcess(TRAINERS)
    policies = scheme_named("fedasync").policies(SchemeContext(WORLD))
    transport = clock(WORLD, _OrderedTraining(0, workers))
    run = SchemeRun(
        "fedasync", WORLD, TRAINERS.of(0), workers, policies, transport=transport, refuse_diverged=True
    )
    for _ in run.run():
        pass
    return run, run.records.take_rows()[1].to_pylist()


def test_messages_about_other_jobs_change_not_one_bit() -> None:
    beset, rows = finished(Beset)
    alone, as_alone = finished(VirtualClock)
    assert rows == as_alone
    for task in range(2):
        models = [run.server.versions[task].current.tobytes() for run in (beset, alone)]
        assert models[0] == models[1]
    assert beset.outcome().refused == beset.transport.sent
    assert len(beset.transport.sent) == 3
    assert alone.outcome().refused == {}


def test_updates_that_cannot_be_used_are_rows_and_the_tasks_get_their_slots() -> None:
    run, rows = finished(Spoilt)
    refused = [row for row in rows if row["outcome"].startswith("refused: ")]
    assert len(refused) >= 4
    assert {task.aggregations for task in run.outcome().tasks.values()} == {12}
    assert all(np.isfinite(row["end_s"]) and row["slot"] == -1 for row in refused)
    reasons = Counter(row["outcome"].removeprefix("refused: ") for row in refused)
    assert reasons.items() <= Counter(run.outcome().refused).items()
    assert all(row["samples"] is None or row["samples"] > 0 for row in rows)


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> dmafl.Run:
    """A run whose longer changes are clipped, and whose longest are refused."""
    made = SMALL.with_({"server.clip_norm": 0.05, "server.max_update_norm": 0.4})
    given = {"models": dict.fromkeys(SMALL.tasks, softmax), "datasets": dict.fromkeys(SMALL.tasks, dataset())}
    return run_with(made, schemes=["fedasync"], output=tmp_path_factory.mktemp("limited") / "run", **given)


def test_limits_of_a_scenario_hold_in_a_run_which_is_verified(limited: dmafl.Run) -> None:
    outcome = limited.manifest.scheme_run(limited.manifest.run_names[0]).outcome
    assert outcome is not None
    assert sum(outcome.clipped.values()) > 4
    too_far = UpdateCheck.NORM_TOO_LARGE.value
    outcomes = limited.periods.column("outcome").to_pylist()
    assert outcome.refused == {too_far: outcomes.count(f"refused: {too_far}")}
    assert all(check.ok for check in dmafl.verify_run(limited.path))
