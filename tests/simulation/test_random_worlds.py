"""Small random worlds: what must hold at every instant of every scheme."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dmafl
from dmafl.schemes.registry import names_of, scheme_named
from dmafl.schemes.scheme import SchemeContext
from dmafl.world.world import World
from support.small_runs import Simulated, dataset, scenario, simulate

ROUNDING = 1e-9
"""Relative: times and frequencies are sums of a few hundred numbers."""

EXAMPLES = 25
DRIFTS = ("none", "growth", "window", "label_shift", "covariate_shift", "abrupt")
DATA = dataset()


def draw_scenario(seed: int) -> dmafl.Scenario:
    """1-5 devices, 1-3 tasks of 1-9 slots; some with batteries or windows that are too small."""
    rng = np.random.default_rng(seed)

    def task() -> dict[str, Any]:
        return {
            "slots": int(rng.integers(1, 10)),
            "max_staleness": int(rng.integers(0, 4)),
            "cycles_per_sample": float(10 ** rng.uniform(2, 7)),
            "idle_max_s": float(rng.choice([0.0, 0.01, 1.0])),
            "window_s": float(rng.choice([1e4, 1e4, 0.3])),
            "bits_per_parameter": float(rng.choice([8.0, 32.0, 4096.0])),
            "staleness_weight": str(rng.choice(["constant", "hinge", "polynomial"])),
            "drift": {
                "kind": str(rng.choice(DRIFTS)),
                "start_fraction": 0.5,
                "idle_rate": float(rng.choice([0.0, 1.0, 3.0])),
                "active_rate": float(rng.choice([0.0, 1.0, 3.0])),
                "per_aggregation": bool(rng.random() < 0.2),
            },
        }

    return scenario(
        {f"t{j}": task() for j in range(int(rng.integers(1, 4)))},
        seed=seed,
        devices=int(rng.integers(1, 6)),
        fleet={"battery_J": float(rng.choice([1e9, 1e9, 2e-3]))},
        channel={
            "kind": str(rng.choice(["rayleigh", "fixed"])),
            "radio": str(rng.choice(["own", "shared"])),
            "uplink_gain": {"log_uniform": [1e-9, 1e-6]},
        },
        mobility={"kind": str(rng.choice(["static", "static", "waypoint"]))},
        schemes={"buffer_size": int(rng.integers(1, 4))},
    )


def check(run: Simulated) -> None:
    """Everything that must hold, whatever the scheme."""
    world = run.scheme_run.world
    _check_clock(run)
    _check_energy(run, world)
    _check_cpu(run, world)
    _check_slots(run, world)
    assert run.most_kept <= 1


def _check_clock(run: Simulated) -> None:
    assert (np.diff([0.0, *run.times_s]) >= 0).all()
    made = defaultdict(list)
    for task, _, _, now in run.seen.aggregations:
        made[task].append(now)
    assert all((np.diff(times) >= 0).all() for times in made.values())
    ends = [row["end_s"] for row in run.periods]
    assert (np.diff(ends) >= 0).all() if ends else True
    for row in run.periods:
        phases = [row[name] for name in ("idle_s", "download_s", "compute_s", "upload_s", "wait_s")]
        assert min(phases) >= -ROUNDING * row["end_s"], row
        total_s = row["start_s"] + sum(phases[1:])
        if row["outcome"] == "aggregated":
            assert total_s == pytest.approx(row["end_s"], rel=ROUNDING)


def _check_energy(run: Simulated, world: World) -> None:
    """The ledger is exactly the sum of the rows; a row's energies are those of its phases; nobody is overdrawn."""
    ledger = run.scheme_run.transport.ledger
    assert ledger.consistent()
    booked: dict[tuple[int, int, int], int] = defaultdict(int)
    d = world.devices
    for row in run.periods:
        i, j = row["device"], world.task_names.index(row["task"])
        for phase, name in enumerate(("uplink_J", "compute_J", "downlink_J")):
            assert row[name] >= 0, row
            booked[i, j, phase] += round(row[name] * 10**18)
        assert row["downlink_J"] == pytest.approx(d.downlink_power_W[i] * row["download_s"], rel=ROUNDING)
        if row["outcome"] == "aggregated":
            assert row["uplink_J"] == pytest.approx(d.uplink_power_W[i] * row["upload_s"], rel=ROUNDING)
        work = d.cycles_per_sample[i, j] * row["steps"] * row["batch"]
        if row["compute_s"]:
            assert row["compute_s"] == pytest.approx(work / row["frequency_Hz"], rel=ROUNDING)
            energy_J = d.capacitance_Js2[i] * work * row["frequency_Hz"] ** 2
            assert row["compute_J"] == pytest.approx(energy_J, rel=ROUNDING)
    for i, cells in enumerate(ledger.state()["amounts"]):
        for j, cell in enumerate(cells):
            assert [int(amount) for amount in cell] == [booked[i, j, phase] for phase in range(3)]
        assert ledger.device_J(i) <= d.battery_J[i] * (1 + ROUNDING)


def _check_cpu(run: Simulated, world: World) -> None:
    """S5 at every instant: a sum can only peak where a computation begins."""
    spans = run.seen.watch.computations
    for span in spans:
        slack_s = ROUNDING * span.begin_s
        load_Hz = sum(
            other.frequency_Hz
            for other in spans
            if other.device == span.device and other.begin_s <= span.begin_s < other.end_s - slack_s
        )
        assert load_Hz <= world.devices.frequency_max_Hz[span.device] * (1 + ROUNDING)
        assert span.frequency_Hz >= world.devices.frequency_min_Hz[span.device] * (1 - ROUNDING)


def _check_slots(run: Simulated, world: World) -> None:
    for j, name in enumerate(world.task_names):
        versions = [version for task, version, _, _ in run.seen.aggregations if task == j]
        assert versions == list(range(len(versions)))
        done = [row for row in run.periods if row["task"] == name and row["outcome"] == "aggregated"]
        assert all(row["staleness"] == row["slot"] - row["version"] >= 0 for row in done)
        if versions[-1] < world.slots[j]:
            assert any(one["task"] == name for one in run.scheme_run.records.losses), (
                "a task stopped and nobody said why"
            )


@settings(max_examples=EXAMPLES)
@given(st.integers(0, 2**32 - 1))
@pytest.mark.parametrize("scheme", names_of("baseline"))
def test_baselines(scheme: str, seed: int) -> None:
    check(simulate(draw_scenario(seed), scheme))


@settings(max_examples=EXAMPLES)
@given(st.integers(0, 2**32 - 1))
def test_plans(seed: int) -> None:
    world = World.resolve(draw_scenario(seed))
    check(simulate(world, "scheduled", dmafl.round_robin(world, in_flight=1 + seed % 4)))


@pytest.mark.parametrize("scheme", names_of("baseline"))
def test_the_same_run_twice(scheme: str) -> None:
    given_ = draw_scenario(77)
    one, two = simulate(given_, scheme), simulate(given_, scheme)
    assert one.periods == two.periods
    assert one.metrics == two.metrics
    for (_, _, a, _), (_, _, b, _) in zip(one.seen.aggregations, two.seen.aggregations, strict=True):
        assert a.tobytes() == b.tobytes()


def test_a_state_in_the_middle_goes_on_to_the_same_end() -> None:
    """Saved and restored after every single event, a scheme run ends as one that ran through."""
    import json

    from dmafl.simulation.scheme_run import SchemeRun
    from dmafl.training.workers import InProcess, Trainers
    from support.small_runs import components

    for scheme in names_of("baseline"):
        for seed in (3, 5, 8):
            given_ = draw_scenario(seed)
            world = World.resolve(given_)
            through = simulate(given_, scheme)
            trainers = Trainers(given_, components(given_))

            def fresh(world=world, trainers=trainers, scheme=scheme) -> SchemeRun:
                lab = trainers.of(world.scenario.seed)
                return SchemeRun(
                    scheme,
                    world,
                    lab,
                    InProcess(trainers),
                    scheme_named(scheme).policies(SchemeContext(world)),
                )

            scheme_run, periods, metrics, going = fresh(), [], [], True
            while going:
                going = False
                for _ in scheme_run.run():
                    going = True
                    break
                rows = scheme_run.records.take_rows()
                metrics += rows[0].to_pylist()
                periods += rows[1].to_pylist()
                plain, arrays = scheme_run.state()
                scheme_run = fresh()
                scheme_run.restore(json.loads(json.dumps(plain)), arrays)
            assert periods == through.periods
            assert metrics == through.metrics
