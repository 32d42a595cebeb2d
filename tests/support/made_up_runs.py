"""Run folders made up from numbers: any number of schemes, seeds, devices and jobs, without training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import dmafl
from dmafl.experiments.run.folder import RunFolder
from dmafl.experiments.run.manifest import Manifest
from dmafl.experiments.run.manifest_rules import OWN, SCHEMA
from dmafl.scenario.model import Scenario
from dmafl.scenario.toml import from_plain
from dmafl.schedule.plan_quality import PlanQuality
from dmafl.simulation.records import METRICS, PERIODS

SEVEN = ("dma-fl", "dma-fl-nr", "dma-fl-ns", "fedasync", "fedavg-full", "fedavg-partial", "fedbuff")
TESTS = 21
STEP = 5


def scenario(tasks: Sequence[str] = ("mnist", "fashion_mnist"), devices: int = 10) -> Scenario:
    names = {"mnist": "mnist", "fashion_mnist": "fashion_mnist"}
    own = {task: {"dataset": names.get(task, "mnist"), "slots": (TESTS - 1) * STEP} for task in tasks}
    return from_plain({"name": "made up", "preset": "demo", "fleet": {"devices": devices}, "tasks": own})


def write_run(
    folder: Path,
    schemes: Sequence[str] = ("dma-fl", "fedasync"),
    seeds: Sequence[int] = (0,),
    *,
    tasks: Sequence[str] = ("mnist", "fashion_mnist"),
    devices: int = 10,
    jobs: int = 120,
    plan: bool = False,
    status: str = "finished",
    at_chance: Sequence[str] = (),
    commonest_share: float | None = None,
    tests: int = TESTS,
    predicted: bool = False,
    absences: Sequence[tuple[int, float, float | None]] = (),
) -> Path:
    """A run folder with `jobs` local periods per scheme run; accuracy and energy differ by scheme in a known way.

    Tasks `at_chance` learn nothing: their accuracy stays near a tenth. A run may have come only to its first `tests`.
    With `predicted`, accuracies are predicted 2 points too low, give or take 3. Absences are those of the first scheme:
    device, when it left, when it joined again.
    """
    made = scenario(tasks, devices)
    worlds = {seed: dmafl.World.resolve(made.model_copy(update={"seed": seed})) for seed in seeds}
    away = {"absences": [dict(zip(("device", "left_s", "joined_s"), one, strict=True)) for one in absences]}
    scheme_runs = {
        f"{scheme}-s{seed}": {
            "status": "finished" if status == "finished" else "waiting",
            "tasks": {task: {"aggregations": 100, "of": 100, "diverged": 0} for task in tasks},
            "lost": [],
            "rounds": False,
        }
        | (away if absences and scheme == schemes[0] else {})
        for scheme in schemes
        for seed in seeds
    }
    manifest = {
        "schema": SCHEMA,
        "status": status,
        "scenario": made.plain(),
        "worlds": {str(seed): world.plain() for seed, world in worlds.items()},
        "schemes": list(schemes),
        "seeds": list(seeds),
        "versions": {"dmafl": dmafl.__version__},
        "data": {
            task: {
                "dataset": "mnist",
                "source": "made up",
                "sha256": "0" * 64,
                "stand_in": False,
                "test_samples": 1000,
            }
            | ({} if commonest_share is None else {"commonest_share": commonest_share})
            for task in tasks
        },
        "plan_sha256": None,
        "measured": {},
        "own": {name: [] for name in OWN},
        "units": scheme_runs,
        "files": {},
        "sha256": "",
    }
    run = RunFolder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    run.write_manifest(Manifest.from_plain(manifest, run.manifest_path))
    rows: list[dict[str, Any]] = []
    tables = []
    for place, scheme in enumerate(schemes):
        for seed in seeds:
            for task in tasks:
                rows += tests_of(scheme, place, seed, task, task in at_chance)[:tests]
            tables.append(periods_of(scheme, seed, tasks, devices, jobs))
    if predicted:
        for row in rows:
            row |= predicted_of(row["accuracy"])
    run.write_table("metrics", pa.Table.from_pylist(rows, schema=METRICS))
    run.write_table("periods", pa.concat_tables(tables))
    if plan:
        world = worlds[seeds[0]]
        terms = {
            task: {
                "training": 0.5,
                "noise": 0.125,
                "quality": 0.625,
                "uplink_J": 1.0,
                "compute_J": 1.0,
                "downlink_J": 1.0,
            }
            for task in tasks
        }
        made_plan = dmafl.Plan(
            world, dmafl.round_robin(world), quality=PlanQuality("calibrated", "gram"), terms=terms
        )
        dmafl.write_plan(made_plan, folder / "plans" / f"{schemes[0]}-s{seeds[0]}.json")
    return folder


def accuracy_of(place: int, seed: int, test: int) -> float:
    """Scheme number `place` ends 2 points below the one before it, give or take a little by seed."""
    return (0.9 - 0.02 * place + 0.001 * ((7 * seed + 3 * place) % 5)) * (1 - 0.9 * 0.8**test)


def chance_of(place: int, test: int) -> float:
    """A task that learns nothing: up and down by half a point, and a tenth of a point more for scheme 0 at the end."""
    return 0.109 + 0.005 * (test % 2) + 0.001 * (place == 0) * (test == TESTS - 1)


def predicted_of(accuracy: float) -> dict[str, float]:
    """What is predicted where `accuracy` will be reached, and the ends of its interval."""
    shifts = {"": -0.02, "_low": -0.05, "_high": 0.01}
    return {f"predicted_accuracy{end}": max(0.0, accuracy + shift) for end, shift in shifts.items()}


def energy_of(place: int, test: int) -> float:
    """Every scheme spends twice the energy of the one before it."""
    return test * 2.0**place


def tests_of(scheme: str, place: int, seed: int, task: str, at_chance: bool = False) -> list[dict[str, Any]]:
    return [
        {
            "scheme": scheme,
            "seed": seed,
            "task": task,
            "aggregation": STEP * test,
            "time_s": 2.0 * test,
            "accuracy": chance_of(place, test) if at_chance else accuracy_of(place, seed, test),
            "loss": 2.3 * 0.9**test,
            "energy_J": energy_of(place, test),
            "uplink_J": 0.25 * energy_of(place, test),
            "compute_J": 0.25 * energy_of(place, test),
            "downlink_J": 0.5 * energy_of(place, test),
            "test_samples": 1000,
            "predicted_loss": 2.2 * 0.9**test if test else None,
            "predicted_accuracy": None,
            "predicted_accuracy_low": None,
            "predicted_accuracy_high": None,
            "grad_norm2": None,
            "bound_printed": None,
            "bound_sharp": None,
        }
        for test in range(TESTS)
    ]


def periods_of(scheme: str, seed: int, tasks: Sequence[str], devices: int, jobs: int) -> pa.Table:
    """Devices take turns; the jobs of one device and task follow each other."""
    draws = np.random.default_rng(seed)
    k = np.arange(jobs)
    device, task = k % devices, (k // devices) % len(tasks)
    turn = k // (devices * len(tasks))
    download, compute, upload = (draws.uniform(0.1, 0.3, jobs) for _ in range(3))
    idle = 1.0 - download - compute - upload
    energies = draws.uniform(0.01, 0.1, (3, jobs))
    columns = {
        "scheme": np.full(jobs, scheme),
        "seed": np.full(jobs, seed),
        "task": np.asarray(tasks)[task],
        "device": device,
        "version": k // len(tasks),
        "slot": k // len(tasks) + k % 3,
        "steps": 5 + k % 36,
        "batch": 8 + k % 25,
        "frequency_Hz": draws.uniform(1e8, 2e9, jobs),
        "start_s": turn + idle,
        "idle_s": idle,
        "download_s": download,
        "compute_s": compute,
        "upload_s": upload,
        "end_s": turn + 1.0,
        "uplink_J": energies[0],
        "compute_J": energies[1],
        "downlink_J": energies[2],
        "staleness": k % 3,
        "mix_weight": draws.uniform(0.1, 0.6, jobs),
        "wait_s": np.zeros(jobs),
        "samples": 150 + turn,
        "outcome": np.full(jobs, "aggregated"),
    }
    return pa.table({name: pa.array(columns[name]).cast(PERIODS.field(name).type) for name in PERIODS.names})
