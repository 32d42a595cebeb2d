"""`dmafl replan`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer


def replan(
    plan: Annotated[Path, typer.Argument(help="The plan that was being carried out.")],
    state: Annotated[
        Path, typer.Argument(help="How far it has come: the folder of its run, or a time in seconds.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write, .json or .parquet.")] = Path(
        "plan.json"
    ),
    measured: Annotated[
        Path | None,
        typer.Option(help="What `dmafl measure` wrote. Without: from the cache, or measured now."),
    ] = None,
    quality: Annotated[str, typer.Option(help="calibrated, sharp or printed.")] = "calibrated",
    dissimilarity: Annotated[str, typer.Option(help="gram or diagonal.")] = "gram",
    time_limit: Annotated[float, typer.Option(help="Seconds for the solver.", min=0.0)] = 30.0,
    workers: Annotated[int, typer.Option(help="Processes that measure; 0: as many as cores.", min=0)] = 0,
    data_dir: Annotated[
        Path | None,
        typer.Option(help="Folder with mnist.npz, fashion_mnist.npz, svhn.npz or your own NAME.npz."),
    ] = None,
) -> None:
    """Plan the rest of a plan anew: what has happened stays."""
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
    from dmafl.measuring.measure import PROBES, measure
    from dmafl.measuring.measured import read_measured
    from dmafl.planning.knowledge import knowledge_from
    from dmafl.planning.revise import replan as revise
    from dmafl.planning.revise import state_of
    from dmafl.plans.files import read_plan, write_plan
    from dmafl.reports.console import console
    from dmafl.reports.measure_view import MeasureView
    from dmafl.reports.plan_table import print_plan
    from dmafl.runs.state import state_of_run

    before = read_plan(plan).plan
    out = console()
    try:
        then = state_of(before.schedule, before.world, float(str(state)))
    except ValueError:
        then = state_of_run(state, before)
    scenario = before.world.scenario
    if measured is not None:
        known = read_measured(measured)
    else:
        with MeasureView(out) as view:
            known = measure(
                scenario,
                probes=PROBES if quality == "calibrated" else 0,
                workers=workers if workers > 0 else os.cpu_count() or 1,
                data_dir=data_dir,
                watcher=view,
            )
    made = revise(
        before,
        then,
        knowledge_from(scenario, known),
        quality=quality,
        dissimilarity=dissimilarity,
        time_limit_s=time_limit,
    )
    write_plan(made, output)
    print_plan(out, made)
    out.print(
        f"{len(then.jobs)} of {len(made.schedule)} jobs stay, the rest is new from {then.now_s:.6g} s on. "
        f"Objective {made.objective:.6g}. Wrote {output}",
        highlight=False,
        markup=False,
    )
