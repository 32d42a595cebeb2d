"""What the simulator writes keeps every rule of `verify`: all schemes, drifts, radios, losses, stops and odd sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import dmafl
from dmafl.scenario.model import Drift, Scenario
from dmafl.schemes.registry import names_of
from support.brought import run_with
from support.in_memory import tmp_path  # noqa: F401
from support.small_runs import dataset, scenario, softmax
from support.stopped_runs import Stop, StopsAfter

KINDS = get_args(Drift.model_fields["kind"].annotation)


def drawn(number: int) -> tuple[Scenario, np.random.Generator]:
    """A small scenario; kinds of drift and radio in turn, everything else at random."""
    rng = np.random.default_rng(number)

    def pick(*decisions: Any) -> Any:
        return decisions[int(rng.integers(len(decisions)))]

    def task() -> dict[str, Any]:
        return {
            "drift": {
                "kind": KINDS[number % len(KINDS)],
                "per_aggregation": pick(True, False),
                "start_fraction": pick(0.3, 0.5, 1.0),
                "idle_rate": pick(0.0, 1.0, 3.0),
                "active_rate": pick(0.0, 1.0, 50.0),
            },
            "slots": int(rng.integers(1, 14)),
            "cycles_per_sample": pick(1e5, 3e6, 1e8),
            "max_staleness": int(rng.integers(0, 4)),
            "window_s": pick(1e4, 0.2, 1.0, 5.0),
            "bits_per_parameter": pick(32.0, 1.0, 1e4),
            "mix_decay": pick(0.0, 3.0),
            "staleness_weight": pick("constant", "hinge", "polynomial"),
            "idle_max_s": pick(0.0, 0.05, 1.0),
        }

    times_s = sorted(
        rng.choice([1e-9, 0.01, 0.1, 0.5, 1.0, 3.0, 30.0], rng.integers(0, 5), replace=False).tolist()
    )
    return scenario(
        {name: task() for name in ("a", "b")[: rng.integers(1, 3)]},
        devices=int(rng.integers(1, 6)),
        seed=int(rng.integers(100)),
        channel={"radio": ("own", "shared")[number // len(KINDS) % 2], "kind": pick("rayleigh", "fixed")},
        mobility={"kind": pick("static", "waypoint")},
        fleet={"battery_J": pick(1e9, 2e-2, 2e-3, 2e-4)},
        evaluation={"every": int(rng.integers(1, 5)), "at_s": times_s, "samples": pick(20, 100)},
        schemes={"buffer_size": int(rng.integers(1, 4)), "partial_arrivals": pick(None, 1, 2, 7)},
    ), rng


def violations(path: Path) -> list[str]:
    return [str(check) for check in dmafl.verify_run(path) if not check.ok]


@pytest.mark.parametrize("number", range(2 * len(KINDS)))
def test_an_honest_run_keeps_every_rule(number: int, tmp_path: Path) -> None:  # noqa: F811
    small, rng = drawn(number)
    world = dmafl.World.resolve(small)
    more: dict[str, Any] = {
        "plan": dmafl.Plan(world, dmafl.round_robin(world, in_flight=int(rng.integers(1, 3)))),
        "schemes": [*names_of("baseline"), "scheduled"],
        "output": tmp_path / "run",
        "models": dict.fromkeys(small.tasks, softmax),
        "datasets": {name: dataset() for name in small.tasks},
        "measured": {},
    }
    if number % 3 == 0:
        stop = StopsAfter(int(rng.integers(1, 200)))
        try:
            run_with(small, watcher=stop, checkpoint_every_s=0.0, **more)
        except Stop:
            assert violations(tmp_path / "run") == []
    run_with(small, resume=True, **more)
    assert violations(tmp_path / "run") == []


def test_energies_below_what_the_ledger_counts_hold(tmp_path: Path) -> None:  # noqa: F811
    """The ledger counts attojoules; phases that cost less are no violation."""
    fleet = {"capacitance_Js2": 1e-32, "frequency_min_Hz": 1e6, "frequency_max_Hz": 2e6}
    small = scenario({"one": {"cycles_per_sample": 1.0}}, fleet=fleet)
    done = run_with(
        small,
        schemes=names_of("baseline"),
        output=tmp_path / "run",
        models={"one": softmax},
        datasets={"one": dataset()},
        measured={},
    )
    assert (np.asarray(done.periods["compute_J"]) < 1e-18).any()
    assert violations(done.path) == []
