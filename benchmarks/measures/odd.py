"""Random scenarios, odd ones among them: each must end in an executable plan or a named infeasibility."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import numpy as np

from dmafl.planning.effort import Effort
from dmafl.planning.infeasible import Infeasible
from dmafl.planning.problem import make_problem
from dmafl.planning.solve import solve
from dmafl.scenario.toml import from_plain
from dmafl.world.world import World
from measures.synthetic import synthetic_estimates

Row = dict[str, Any]
FIRST_SEED = 5000
COUNT, QUICK_COUNT = 500, 12
EFFORT = 1.0
ODDITIES = (
    "none",
    "one device",
    "one task",
    "no drift",
    "dead channel",
    "tiny battery",
    "short window",
    "one slot",
    "no staleness",
    "tasks take turns",
    "shared radio",
    "walking devices",
    "mean rates",
    "one step, one sample",
    "nothing but quality",
    "nothing but energy",
)
QUALITIES = (
    ("calibrated", "gram"),
    ("sharp", "diagonal"),
    ("printed", "diagonal"),
    ("calibrated", "diagonal"),
)


def scenario(seed: int) -> tuple[dict[str, Any], str]:
    """A random scenario as plain values, and what is odd about it."""
    rng = np.random.default_rng(seed)
    odd = ODDITIES[seed % len(ODDITIES)]
    devices = 1 if odd == "one device" else int(rng.integers(2, 8))
    tasks = 1 if odd == "one task" else int(rng.integers(1, 4))
    fleet: dict[str, Any] = {"devices": devices, "battery_J": float(10 ** rng.uniform(-1, 2))}
    channel: dict[str, Any] = {"kind": str(rng.choice(["rayleigh", "fixed"]))}
    given: dict[str, Any] = {"preset": "phone", "seed": seed, "fleet": fleet, "channel": channel}
    objective = {
        "quality_weight_calibrated": 0.2,
        "quality_weight_sharp": 0.02,
        "quality_weight_printed": 0.002,
    }
    if odd == "dead channel":
        channel |= {"kind": "fixed", "uplink_gain": 1e-25, "downlink_gain": 1e-25}
    if odd == "tiny battery":
        fleet["battery_J"] = float(10 ** rng.uniform(-6, -2))
    if odd == "tasks take turns":
        fleet |= {"frequency_min_Hz": 1.5e9}
    if odd == "shared radio":
        channel["radio"] = "shared"
    if odd == "mean rates":
        channel |= {"kind": "rayleigh", "knowledge": "mean_rate"}
    if odd == "walking devices":
        given["mobility"] = {"kind": "waypoint", "speed_m_s": 1.5}
    if odd == "nothing but quality":
        objective |= {"device_energy_weight": 0.0, "station_energy_weight": 0.0}
    if odd == "nothing but energy":
        objective = dict.fromkeys(objective, 0.0)
    given["objective"] = objective
    given["tasks"] = {f"task_{j}": _task(rng, odd) for j in range(tasks)}
    return given, odd


def _task(rng: np.random.Generator, odd: str) -> dict[str, Any]:
    slots = 1 if odd == "one slot" else int(rng.integers(2, 15))
    window_s = slots * float(rng.uniform(0.5, 5.0))
    task: dict[str, Any] = {
        "slots": slots,
        "samples": int(rng.integers(100, 1000)),
        "steps_min": 1,
        "steps_max": int(rng.integers(1, 41)),
        "batch_min": 4,
        "batch_max": int(rng.integers(4, 65)),
        "max_staleness": 0 if odd == "no staleness" else int(rng.integers(0, 6)),
        "cycles_per_sample": {"uniform": [1e5, 1e6]},
        "window_s": float(10 ** rng.uniform(-3, -0.5)) if odd == "short window" else window_s,
        "importance": float(rng.uniform(0.0, 2.0)),
        "mixing": float(rng.uniform(0.05, 1.0)),
        "mix_decay": float(rng.choice([0.0, 5.0])),
        "staleness_weight": str(rng.choice(["constant", "hinge", "polynomial"])),
    }
    if odd == "one step, one sample":
        task |= {"steps_max": 1, "batch_min": 1, "batch_max": 1}
    if odd == "no drift":
        task["drift"] = {"kind": "none"}
    return task


def odd_scenarios(seeds: int, quick: bool, kinds: object) -> list[Row]:
    """Plan for all of them; anything but a plan or a named infeasibility ends the benchmark with its seed."""
    count = QUICK_COUNT if quick else COUNT
    outcomes: Counter[str] = Counter()
    named: Counter[str] = Counter()
    rows = []
    for seed in range(FIRST_SEED, FIRST_SEED + count):
        plain, odd = scenario(seed)
        quality, dissimilarity = QUALITIES[seed // len(ODDITIES) % len(QUALITIES)]
        outcome = outcome_of(plain, seed, quality, dissimilarity)
        outcomes["plan" if outcome == "plan" else "infeasible"] += 1
        if outcome != "plan":
            named[outcome] += 1
        rows.append({"seed": seed, "odd": odd, "quality": quality, "outcome": outcome})
    print(f"odd: {count} scenarios: {dict(outcomes)}; infeasible because of {dict(named)}", flush=True)
    return rows


def outcome_of(plain: dict[str, Any], seed: int, quality: str, dissimilarity: str) -> str:
    """ "plan", or the names of the limits that bind."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        world = World.resolve(from_plain(plain))
        estimates = synthetic_estimates(world, seed, exchange=0.5 * (seed % 2))
        try:
            problem = make_problem(world, estimates, quality=quality, dissimilarity=dissimilarity)
            plan = solve(problem, effort=Effort(EFFORT))
        except Infeasible as error:
            return ", ".join(sorted({problem.name.split(".")[-1] for problem in error.problems}))
    if not plan.executable:
        raise AssertionError(
            f"seed {seed}: not executable: {[str(check) for check in plan.checks if not check.ok]}"
        )
    numbers = [plan.objective, *(value for terms in plan.terms.values() for value in terms.values())]
    if not all(value is not None and np.isfinite(value) for value in numbers):
        raise AssertionError(f"seed {seed}: not finite: {plan.terms}")
    return "plan"
