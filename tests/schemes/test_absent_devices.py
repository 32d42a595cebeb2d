"""Every scheme of the registry among devices that leave and return on the virtual clock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmafl
from dmafl.calibration.measured import Measured
from dmafl.scenario.model import Scenario
from dmafl.schedule.jobs import Schedule
from dmafl.schemes.dma_fl_online import REVISIONS
from dmafl.schemes.online_around import Moment, OnlineAround
from dmafl.schemes.registry import NAMES
from dmafl.schemes.scheme import SchemeContext
from dmafl.world.world import World
from support.brought import run_with
from support.churn import Times
from support.in_memory import tmp_path  # noqa: F401
from support.small_runs import dataset, scenario, simulate, softmax
from support.stopped_runs import Stop, StopsAfter
from support.tiny_measurements import measured

TASKS = {"a": {"slots": 16, "partition": "dirichlet", "samples": 12}, "b": {"slots": 8, "samples": 12}}
ONLINE = "dma-fl-online"


@pytest.fixture(scope="module")
def restless() -> Scenario:
    """Devices that are away a third of the time, and leave about every fourth job."""
    return scenario(TASKS, devices=4, availability={"kind": "random", "mean_on_s": 0.1, "mean_off_s": 0.05})


@pytest.fixture(scope="module")
def constants(restless: Scenario) -> Measured:
    return measured(restless, None)


def arguments(restless: Scenario, constants: Measured, output: Path) -> dict[str, Any]:
    world = World.resolve(restless)
    return {
        "plan": dmafl.Plan(world, dmafl.round_robin(world, in_flight=2)),
        "schemes": NAMES,
        "output": output,
        "models": dict.fromkeys(restless.tasks, softmax),
        "datasets": dict.fromkeys(restless.tasks, dataset()),
        "measured": constants,
        "effort": 0.5,
    }


@pytest.fixture(scope="module")
def done(
    restless: Scenario, constants: Measured, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dmafl.Run]:
    output = tmp_path_factory.mktemp("restless") / "run"
    yield run_with(restless, **arguments(restless, constants, output))


@pytest.mark.parametrize("scheme", NAMES)
def test_every_scheme_completes_its_slots_and_loses_jobs(done: dmafl.Run, scheme: str) -> None:
    outcome = done.manifest.scheme_run(next(n for n in done.manifest.run_names if n.scheme == scheme)).outcome
    assert outcome is not None
    assert outcome.absences
    assert outcome.lost == ()
    assert {name: task.aggregations for name, task in outcome.tasks.items()} == {"a": 16, "b": 8}
    rows = [row for row in done.periods.to_pylist() if row["scheme"] == scheme]
    assert {row["outcome"] for row in rows} >= {"aggregated", "failed: left"}


def test_every_rule_holds(done: dmafl.Run) -> None:
    assert [str(check) for check in dmafl.verify_run(done.path) if not check.ok] == []


@pytest.mark.parametrize("after", [40, 90])
def test_a_stop_on_the_way_changes_nothing(
    restless: Scenario,
    constants: Measured,
    done: dmafl.Run,
    tmp_path: Path,  # noqa: F811
    after: int,
) -> None:
    """Of the schemes whose policies have the largest states."""
    chosen = arguments(restless, constants, tmp_path / "run") | {"schemes": (ONLINE, "scheduled")}
    with pytest.raises(Stop):
        run_with(restless, watcher=StopsAfter(after), checkpoint_every_s=0.0, **chosen)
    again = run_with(restless, resume=True, **chosen)
    for table in ("metrics", "periods"):
        whole = [row for row in getattr(done, table).to_pylist() if row["scheme"] in chosen["schemes"]]
        assert getattr(again, table).to_pylist() == whole


def test_two_workers_give_the_same(
    restless: Scenario,
    constants: Measured,
    done: dmafl.Run,
    tmp_path: Path,  # noqa: F811
) -> None:
    chosen = arguments(restless, constants, tmp_path / "run") | {"schemes": (ONLINE, "fedasync")}
    again = run_with(restless, workers=2, **chosen)
    for table in ("metrics", "periods"):
        whole = [row for row in getattr(done, table).to_pylist() if row["scheme"] in chosen["schemes"]]
        assert getattr(again, table).to_pylist() == whole


class Revising:
    """Plans anew as `as_planned` says, and notes every moment at which that is done."""

    def __init__(self) -> None:
        self.moments: list[Moment] = []

    def __call__(self, moment: Moment) -> Schedule:
        self.moments.append(moment)
        return moment.jobs


def carried_out(
    there: dict[int, Any], slots: int = 24, every: int = 6
) -> tuple[Revising, list[dict[str, Any]]]:
    """A round robin of three devices, planned anew around those that are away."""
    small = scenario({"one": {"slots": slots, "drift": {"kind": "none"}}}, devices=3)
    world = World.resolve(small, availability=Times(there))
    revising = Revising()
    policies = [OnlineAround(world, 0, dmafl.round_robin(world), every, revising)]
    run = simulate(world, policies=policies)
    assert run.complete
    return revising, run.periods


def test_who_is_away_is_planned_around_until_it_is_back() -> None:
    """It leaves for good after some jobs: planned at once, and from then on every plan is without it."""
    revising, rows = carried_out({1: [(0.0, 0.02)]})
    first = revising.moments[0]
    assert first.now == 0.02
    assert {moment.away for moment in revising.moments if moment.now >= 0.02} == {frozenset({1})}
    assert all(row["device"] != 1 for row in rows if row["start_s"] >= 0.02)
    assert len(revising.moments) <= 2 * REVISIONS
    happened = [row for row in rows if row["outcome"] == "aggregated" and row["end_s"] <= 0.02]
    assert list(first.ends_s[: len(happened)]) == [row["end_s"] for row in happened]
    assert first.jobs.device[: len(happened)].tolist() == [row["device"] for row in happened]
    assert first.jobs.steps[: len(happened)].tolist() == [row["steps"] for row in happened]


def test_who_returns_has_a_part_in_the_next_plan() -> None:
    revising, rows = carried_out({1: [(0.0, 0.02), (0.05, 1e4)]})
    without = [moment for moment in revising.moments if moment.away]
    after = [moment for moment in revising.moments if moment.now >= 0.05]
    assert without
    assert {moment.away for moment in after} == {frozenset()}
    assert any(row["device"] == 1 and row["start_s"] >= 0.05 for row in rows)


def test_plans_have_a_pause_between_them() -> None:
    """Devices that come and go at every moment do not make a plan each time."""
    flicker = [(0.006 * k, 0.006 * k + 0.004) for k in range(1000)]
    revising, _ = carried_out({1: flicker, 2: [(a + 0.003, b + 0.003) for a, b in flicker]}, every=8)
    done = np.asarray(
        [len([end for end in moment.ends_s if end <= moment.now]) for moment in revising.moments]
    )
    assert len(done) > 1
    assert (np.diff(done) >= 4).all()


def test_devices_that_are_real_may_leave_in_any_world() -> None:

    world = World.resolve(scenario())
    assert not SchemeContext(world).devices_leave
    assert SchemeContext(world, real_devices=True).devices_leave
    assert SchemeContext(World.resolve(scenario(), availability=Times({}))).devices_leave
