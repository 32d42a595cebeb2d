"""Schemes that plan: a plan for every seed, kept in the folder, carried out as it says."""

import contextlib
import gc
import random
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmafl
from dmafl.base.errors import BadInput
from dmafl.base.processes.stopping import Interrupted
from dmafl.calibration.measured import Measured
from dmafl.experiments.run import active_run, constants, here
from dmafl.experiments.run.folder import RunFolder
from dmafl.reports.html.rerun import command
from dmafl.scenario.model import Scenario
from dmafl.scenario.toml import from_plain
from dmafl.schemes.registry import names_of, scheme_named
from dmafl.simulation.clock import VirtualClock
from dmafl.simulation.scheme_run import SchemeRun
from support.plan_rules import broken_rules

SLOTS = 8
OFFLINE = [name for name in names_of("planned") if not scheme_named(name).revises]


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    task = {"slots": SLOTS, "samples": 60, "steps_max": 8, "batch_max": 8, "window_s": 60.0}
    return from_plain(
        {"preset": "phone", "fleet": {"devices": 4}, "tasks": {"mnist": task, "fashion_mnist": task}}
    )


@pytest.fixture(scope="module")
def measured(scenario: Scenario) -> Measured:
    return dmafl.measure(scenario, probes=12, use_cache=False)


def test_planned_schemes_do_what_their_plans_say(
    scenario: Scenario, measured: Measured, tmp_path: Path
) -> None:
    """Also for a seed that was not measured: its devices have labels of their own."""
    run = dmafl.run(
        scenario,
        schemes=[*OFFLINE, "fedasync"],
        seeds=[0, 1],
        output=tmp_path / "run",
        measured=measured,
        effort=1.0,
    )
    assert all(check.ok for check in dmafl.verify_run(run.path))
    periods = run.periods.to_pylist()
    for scheme in OFFLINE:
        for seed in (0, 1):
            plan = dmafl.read_plan(run.path / "plans" / f"{scheme}-s{seed}.json").plan
            done = {
                (row["task"], row["slot"]): row
                for row in periods
                if row["scheme"] == scheme and row["seed"] == seed and row["outcome"] == "aggregated"
            }
            assert len(done) == 2 * SLOTS
            for k in range(len(plan.schedule)):
                row = done[plan.world.task_names[plan.schedule.task[k]], int(plan.schedule.slot[k])]
                for name in ("device", "version", "steps", "batch"):
                    assert row[name] == getattr(plan.schedule, name)[k]
                assert row["end_s"] == pytest.approx(plan.timeline.end_s[k])
            if scheme == "dma-fl":
                assert broken_rules(plan) == {}


def test_a_plan_is_revised_on_the_way(scenario: Scenario, measured: Measured, tmp_path: Path) -> None:
    short = scenario.model_copy(update={"tasks": {"mnist": scenario.tasks["mnist"]}})
    own = Measured(measured.key, {"mnist": measured.of("mnist")})
    run = dmafl.run(short, schemes=["dma-fl-online"], output=tmp_path / "run", measured=own, effort=1.0)
    assert all(check.ok for check in dmafl.verify_run(run.path))
    assert sum(row["outcome"] == "aggregated" for row in run.periods.to_pylist()) == SLOTS


def test_without_drawn_schedules_ns_has_the_jobs_of_fedasync(
    scenario: Scenario, measured: Measured, tmp_path: Path
) -> None:
    run = dmafl.run(
        scenario,
        schemes=["dma-fl-ns", "fedasync"],
        output=tmp_path / "run",
        measured=measured,
        effort=1.0,
    )
    rows = [row for row in run.periods.to_pylist() if row["outcome"] == "aggregated"]
    jobs = {
        scheme: sorted(
            (row["task"], row["slot"], row["device"], row["version"])
            for row in rows
            if row["scheme"] == scheme
        )
        for scheme in ("dma-fl-ns", "fedasync")
    }
    same = np.mean([a[:3] == b[:3] for a, b in zip(jobs["dma-fl-ns"], jobs["fedasync"], strict=True)])
    assert same == 1.0


@pytest.fixture(scope="module")
def plan(scenario: Scenario, measured: Measured) -> dmafl.Plan:
    """By another solver than the one that runs use, so that nobody can mistake it for one of theirs."""
    return dmafl.plan(scenario, measured=measured, solver="sca", effort=1.0)


def test_dma_fl_carries_out_the_plan_that_is_given_and_plans_other_seeds(
    scenario: Scenario, measured: Measured, plan: dmafl.Plan, tmp_path: Path
) -> None:
    run = dmafl.run(
        scenario,
        plan,
        schemes=["dma-fl", "fedasync"],
        seeds=[0, 1],
        output=tmp_path / "run",
        measured=measured,
        effort=0.2,
    )
    assert all(check.ok for check in dmafl.verify_run(run.path))
    kept = [dmafl.read_plan(run.path / "plans" / f"dma-fl-s{seed}.json").plan for seed in (0, 1)]
    assert [one.solver for one in kept] == ["sca", "auto"]
    assert [one.world.scenario.seed for one in kept] == [0, 1]
    assert sorted(path.name for path in (run.path / "plans").iterdir()) == [
        "dma-fl-s0.json",
        "dma-fl-s1.json",
    ]
    done = {
        (row["task"], row["slot"]): row["device"]
        for row in run.periods.to_pylist()
        if (row["scheme"], row["seed"], row["outcome"]) == ("dma-fl", 0, "aggregated")
    }
    jobs = plan.schedule
    assert done == {
        (plan.world.task_names[jobs.task[k]], int(jobs.slot[k])): int(jobs.device[k])
        for k in range(len(jobs))
    }
    assert "--plan plans/dma-fl-s0.json --seeds 0,1" in command(run)


def test_what_a_plan_runs_as_where_no_scheme_is_named(
    scenario: Scenario, measured: Measured, plan: dmafl.Plan, tmp_path: Path
) -> None:
    run = dmafl.run(scenario, plan, output=tmp_path / "run", measured=measured)
    assert run.manifest.schemes == ("dma-fl",)
    by_hand = dmafl.Plan(plan.world, dmafl.round_robin(plan.world, in_flight=2))
    with pytest.raises(BadInput, match="must be named for a list of jobs that no planner made"):
        dmafl.run(scenario, by_hand, output=tmp_path / "unnamed", measured=measured)
    named = dmafl.run(
        scenario,
        by_hand,
        schemes=["scheduled", "dma-fl"],
        output=tmp_path / "named",
        measured=measured,
        effort=0.2,
    )
    assert all(check.ok for check in dmafl.verify_run(named.path))
    assert dmafl.read_plan(named.path / "plans" / "scheduled.json").plan.solver == "manual"
    assert dmafl.read_plan(named.path / "plans" / "dma-fl-s0.json").plan.solver == "auto"


@pytest.mark.parametrize(
    ("schemes", "seeds", "rule"),
    [
        (["dma-fl"], [1], "must have 0, the seed of the plan"),
        (["scheduled", "fedasync"], [0, 1], "must be 0, the seed of the plan"),
    ],
)
def test_seeds_that_a_plan_is_not_for(
    schemes: list[str], seeds: list[int], rule: str, scenario: Scenario, plan: dmafl.Plan, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=rule):
        dmafl.run(scenario, plan, schemes=schemes, seeds=seeds, output=tmp_path / "run")


@pytest.mark.parametrize(
    ("measure", "seeds", "wanted"),
    [("if needed", [0, 1], [0]), ("if needed", [1, 2], [0]), ("first", [1, 0], [1, 0])],
)
def test_a_run_measures_what_its_schemes_need_and_passes_it_on(
    measure: Any,
    seeds: list[int],
    wanted: list[int],
    scenario: Scenario,
    measured: Measured,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is kept anywhere: what is used can only have been passed on."""
    asked: list[int] = []

    def measuring(given: Scenario, **settings: Any) -> Measured:
        asked.append(given.seed)
        return measured

    monkeypatch.setattr(constants, "measure", measuring)
    monkeypatch.setattr(constants, "look_up", lambda *given: None)
    run = dmafl.run(
        scenario, schemes=["dma-fl"], seeds=seeds, output=tmp_path / "run", measure=measure, effort=0.1
    )
    assert asked == wanted
    assert sorted(run.measured) == sorted(set(seeds) & set(wanted))
    asked.clear()
    dmafl.run(scenario, schemes=["fedasync"], seeds=seeds, output=tmp_path / "baseline")
    assert asked == []
    with pytest.raises(BadInput, match="must be known for schemes that plan"):
        dmafl.run(scenario, schemes=["dma-fl"], seeds=seeds, output=tmp_path / "never", measure="never")


def test_schemes_that_plan_need_a_measurement(scenario: Scenario, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="measured"):
        dmafl.run(scenario, schemes=["dma-fl"], output=tmp_path / "run", measured={})


def test_a_crash_before_a_plan_is_kept_changes_nothing(
    scenario: Scenario, measured: Measured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan is made again, at another speed of the machine, and its effort ends in the middle of the search."""
    short = scenario.model_copy(update={"tasks": {"mnist": scenario.tasks["mnist"]}})
    own = Measured(measured.key, {"mnist": measured.of("mnist")})

    def carried_out(name: str) -> Path:
        schemes = ["dma-fl", "dma-fl-online"]
        run = dmafl.run(
            short, schemes=schemes, output=tmp_path / name, measured=own, effort=0.1, resume=name == "crashed"
        )
        return run.path

    whole = carried_out("whole")

    def crash(folder: RunFolder, name: str, plan: object) -> None:
        raise MemoryError(name)

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "write_plan", crash)
        with contextlib.suppress(MemoryError):
            carried_out("crashed")
        assert not list((tmp_path / "crashed").glob("plans/*"))
    patience, now = random.Random(3), [1e6]

    def stumbling() -> float:
        now[0] += patience.choice((1e-6, 0.1, 30.0))
        return now[0]

    for clock in ("process_time", "thread_time"):
        monkeypatch.setattr(time, clock, stumbling)
    crashed = carried_out("crashed")
    for name in ("plans/dma-fl-s0.json", "plans/dma-fl-online-s0.json", "periods.parquet", "metrics.parquet"):
        assert (crashed / name).read_bytes() == (whole / name).read_bytes(), name


def test_a_stop_does_not_wait_for_a_plan(
    scenario: Scenario, measured: Measured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With this effort a plan would take a week."""
    looks = 0

    @contextlib.contextmanager
    def asked_at_the_tenth_look() -> Iterator[Callable[[], bool]]:
        def asked() -> bool:
            nonlocal looks
            looks += 1
            return looks > 10

        yield asked

    monkeypatch.setattr(here, "stop_asked", asked_at_the_tenth_look)
    with pytest.raises(Interrupted):
        dmafl.run(scenario, schemes=["dma-fl"], output=tmp_path / "run", measured=measured, effort=600_000.0)
    assert looks > 10
    monkeypatch.undo()
    run = dmafl.run(
        scenario, schemes=["dma-fl"], output=tmp_path / "run", measured=measured, effort=0.5, resume=True
    )
    assert all(check.ok for check in dmafl.verify_run(run.path))


def test_a_scheme_run_goes_when_it_has_ended(
    scenario: Scenario, measured: Measured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds the devices of a world: hundreds of megabytes that nobody would collect for a long while."""
    clocks: list[weakref.ref[VirtualClock]] = []

    class Noted(SchemeRun):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            assert all(clock() is None for clock in clocks)
            clocks.append(weakref.ref(self.transport))

    monkeypatch.setattr(active_run, "SchemeRun", Noted)

    gc.collect()
    gc.disable()
    try:
        schemes = ["fedasync", "dma-fl-online", "fedbuff"]
        settings = {"measured": measured, "effort": 0.1, "output": tmp_path / "run"}
        dmafl.run(scenario, schemes=schemes, **settings)
    finally:
        gc.enable()
    assert len(clocks) == len(schemes)
    assert all(clock() is None for clock in clocks)
