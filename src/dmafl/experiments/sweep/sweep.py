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
    workers: int = 1,
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
    """
    work = PointWork(scheme, plan_only, effort, quality, dissimilarity)
    _check(work)
    components = components.looking_in(data_dir)
    scenario = components.filled(scenario)
    folder = Path(output)
    watcher = watcher if watcher is not None else Watcher()
    with locked(folder):
        if (folder / "manifest.json").exists():
            raise bad_input(
                str(folder), "must be a folder for a sweep", ShownAsIs("a run"), "Name another one."
            )
        combinations = grid(scenario, values)
        pieces: list[SweepPiece] = []
        for settings, varied in combinations:
            constants = None
            if work.plans:
                constants = measured or _measured(varied, work, workers, components, watcher)
            for seed in dict.fromkeys(seeds or (scenario.seed,)):
                point = Point(settings, varied, seed, components)
                checksums = {
                    name: components.dataset(name, task).sha256 for name, task in varied.tasks.items()
                }
                key = point.key(work, checksums, None if constants is None else constants.key)
                pieces.append(SweepPiece(point, work, folder / "points" / key, constants))
        without = missing(pieces)
        there = len({piece.key for piece in pieces}) - len(without)
        problems = carry_out("points", without, workers, watcher, there=there)
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


def _measured(
    scenario: Scenario, work: PointWork, workers: int, components: Components, watcher: Watcher
) -> Measured:
    """What plans of a combination are made with: what is kept of it, or measured now."""
    with watcher.part("measuring") as part:
        return measured_for(scenario, work.quality, workers=workers, components=components, watcher=part)
