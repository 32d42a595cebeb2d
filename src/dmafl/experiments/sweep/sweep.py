"""`dmafl.sweep`: a scenario with settings varied, and the outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dmafl.base.errors import BadInput, Problem, ShownAsIs, bad_input
from dmafl.base.files import locked
from dmafl.base.watching import Watcher
from dmafl.calibration.measured import Measured
from dmafl.experiments.campaign.campaign import carry_out, missing
from dmafl.experiments.campaign.shard import Shard
from dmafl.experiments.executors.executor import Executor
from dmafl.experiments.executors.local import processes_here
from dmafl.experiments.executors.registry import executor_named
from dmafl.experiments.sweep.piece import SweepPiece
from dmafl.experiments.sweep.point import Point, PointWork, grid
from dmafl.experiments.sweep.sweep_folder import Sweep, write_sweep
from dmafl.planning.effort import EFFORT
from dmafl.planning.measuring import measured_for
from dmafl.scenario.model import Scenario
from dmafl.schemes.registry import names_of, scheme_named
from dmafl.training.components import NOTHING, Components


def sweep(
    scenario: Scenario,
    values: Mapping[str, Sequence[Any]],
    *,
    scheme: str = "dma-fl",
    seeds: Sequence[int] | None = None,
    plan_only: bool = False,
    output: str | Path = "sweep",
    workers: int | None = None,
    on: str | Executor = "local",
    shard: Shard | None = None,
    measured: Measured | None = None,
    effort: float = EFFORT,
    quality: str = "calibrated",
    dissimilarity: str = "gram",
    components: Components = NOTHING,
    data_dir: str | Path | None = None,
    watcher: Watcher | None = None,
) -> Sweep:
    """Run `scheme`, or only plan it, for every combination of `values` (dotted key -> values) and every seed.

    Points are kept in the folder `output` under the content they follow from: the same call goes on where it was
    stopped, and one with more values or seeds does what is new. Points that cannot be done, e.g. because there is no
    plan within a window, are noted; the others go on. `measured` is used at all points that plan; without it every
    combination is measured (`dmafl.measure`).
    `on` says where points are done: `local`, `ray`, `slurm`, or `Ray` or `Slurm` with settings; outcomes are the same.
    `workers` are points at a time; without: one on this machine, elsewhere as many as there are places.
    `shard` takes only this part of the points, and makes its table of these: several machines share the work, each
    with a folder of its own. With the `points` of all of them in one folder, the call without `shard` joins them.
    """
    work = PointWork(scheme, plan_only, effort, quality, dissimilarity)
    _check(work)
    components = components.looking_in(data_dir)
    scenario = components.filled(scenario)
    folder = Path(output)
    on = executor_named(on)
    shard = shard if shard is not None else Shard()
    here = processes_here(on, workers)
    watcher = watcher if watcher is not None else Watcher()
    with locked(folder):
        if (folder / "manifest.json").exists():
            raise bad_input(
                str(folder), "must be a folder for a sweep", ShownAsIs("a run"), "Name another one."
            )
        pieces: list[SweepPiece] = []
        points = 0
        for settings, varied in grid(scenario, values):
            data = {name: components.dataset(name, task).sha256 for name, task in varied.tasks.items()}
            of_seeds = [
                Point(settings, varied, seed, components) for seed in dict.fromkeys(seeds or (scenario.seed,))
            ]
            points += len(of_seeds)
            taken = [point for point in of_seeds if shard.takes(point.key(work, data, None))]
            constants = None
            if work.plans and taken:
                constants = measured or _measured(varied, work, here, components, watcher)
            for point in taken:
                key = point.key(work, data, None if constants is None else constants.key)
                pieces.append(SweepPiece(point, work, folder / "points" / key, constants))
        _check_shard(shard, len(pieces), points)
        without = missing(pieces)
        there = len({piece.key for piece in pieces}) - len(without)
        problems = carry_out("points", without, on, workers, folder, watcher, there=there)
        write_sweep(folder, scenario, values, work, pieces, problems)
    if problems and all(piece.key in problems for piece in pieces):
        rule = "must leave at least one point that can be done"
        raise BadInput(Problem("--set", rule, "none", next(iter(problems.values()))))
    return Sweep(folder)


def _check(work: PointWork) -> None:
    if scheme_named(work.scheme).group == "given":
        raise bad_input("scheme", "must not need a plan made before", work.scheme, "Use dma-fl.")
    if work.plan_only and not work.plans:
        raise bad_input(
            "scheme",
            "must be one that plans for plans alone: " + ", ".join(names_of("planned")),
            work.scheme,
            "Leave --plan-only out.",
        )


def _check_shard(shard: Shard, taken: int, points: int) -> None:
    if not taken:
        rule = f"must take at least one of the {points} points"
        remedy = "Divide the sweep into fewer parts, or leave this one out."
        raise bad_input("shard", rule, ShownAsIs(f"{shard}, which takes none"), remedy)


def _measured(
    scenario: Scenario, work: PointWork, workers: int, components: Components, watcher: Watcher
) -> Measured:
    """What plans of a combination are made with: what is kept of it, or measured now."""
    with watcher.part("measuring") as part:
        return measured_for(scenario, work.quality, workers=workers, components=components, watcher=part)
