"""`dmafl plan`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer


def plan(
    scenario: Annotated[Path, typer.Argument(help="A scenario file, see `dmafl init`.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write, .json or .parquet.")] = Path(
        "plan.json"
    ),
    measured: Annotated[
        Path | None,
        typer.Option(help="What `dmafl measure` wrote. Without: from the cache, or measured now."),
    ] = None,
    solver: Annotated[str, typer.Option(help="auto, sca or exhaustive.")] = "auto",
    quality: Annotated[str, typer.Option(help="calibrated, sharp or printed.")] = "calibrated",
    dissimilarity: Annotated[str, typer.Option(help="gram or diagonal.")] = "gram",
    participation: Annotated[
        float,
        typer.Option(help="Share of its fair share of slots that every device must get.", min=0.0, max=1.0),
    ] = 0.0,
    time_limit: Annotated[float, typer.Option(help="Seconds for the solver.", min=0.0)] = 30.0,
    seed: Annotated[int, typer.Option(help="Seed of the solver's random moves.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes that measure; 0: as many as cores.", min=0)] = 0,
    data_dir: Annotated[
        Path | None,
        typer.Option(help="Folder with mnist.npz, fashion_mnist.npz, svhn.npz or your own NAME.npz."),
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="Also draw the timeline: .png, .svg or .pdf.")] = None,
) -> None:
    """Plan who trains what when with how much work, and say what it is worth."""
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
    from dmafl.measuring.measure import PROBES, measure
    from dmafl.measuring.measured import read_measured
    from dmafl.planning.knowledge import knowledge_from
    from dmafl.planning.lower_bound import lower_bound
    from dmafl.planning.make import constants_of
    from dmafl.planning.problem import make_problem
    from dmafl.planning.solve import solve
    from dmafl.plans.files import write_plan
    from dmafl.reports.console import console
    from dmafl.reports.measure_view import MeasureView
    from dmafl.reports.plan_table import print_plan
    from dmafl.reports.plan_view import PlanView
    from dmafl.reports.timeline_picture import draw_timeline
    from dmafl.scenario.toml import load
    from dmafl.world.world import World

    world = World.resolve(load(scenario))
    out = console()
    if measured is not None:
        known = read_measured(measured)
    else:
        with MeasureView(out) as view:
            known = measure(
                world.scenario,
                probes=PROBES if quality == "calibrated" else 0,
                workers=workers if workers > 0 else os.cpu_count() or 1,
                data_dir=data_dir,
                watcher=view,
            )
    knowledge = knowledge_from(world.scenario, known)
    problem = make_problem(
        world, knowledge, quality=quality, dissimilarity=dissimilarity, participation=participation
    )
    bound = lower_bound(problem)
    with PlanView(out, bound) as watch:
        made = solve(
            problem,
            solver=solver,
            time_limit_s=time_limit,
            seed=seed,
            watch=watch,
            constants=constants_of(problem, knowledge) | {"measured": known.key},
        )
    write_plan(made, output)
    print_plan(out, made)
    for name in knowledge:
        calibration = knowledge[name].calibration
        if quality == "calibrated" and calibration is not None and calibration.warning:
            out.print(f"{name}: {calibration.warning}", highlight=False, markup=False)
    gap = (
        f", at most {1 - bound / made.objective:.1%} above the best possible"
        if bound and made.objective
        else ""
    )
    out.print(f"Objective {made.objective:.6g}{gap}. Wrote {output}", highlight=False, markup=False)
    if picture is not None:
        draw_timeline(made.world, made.schedule, made.timeline, picture)
        out.print(f"Timeline: {picture}", highlight=False, markup=False)
