"""`dmafl reproduce`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dmafl.base.errors import ShownAsIs, bad_input, visible
from dmafl.cli.executor_options import On, RayAddress, ShardOption, SlurmSettings, at_once, executor_of
from dmafl.cli.shared import AsCsv, AsJson, DataDir, one_thread, printer
from dmafl.cli.stopping import Stopped

COMMITTED = Path("results")
"""Outcomes and constants that come with a clone."""


def reproduce(
    quick: Annotated[
        bool, typer.Option("--quick", help="A small but real version: one partition, two seeds, few slots.")
    ] = False,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES", help="Run only what these need: claims, e.g. C1,C6, or groups, e.g. baselines."
        ),
    ] = None,
    preset: Annotated[str, typer.Option(metavar="NAME", help="paper or phone.")] = "phone",
    seeds: Annotated[
        str | None, typer.Option(metavar="SEEDS", help="Seeds, e.g. 300-304 or 300,305.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of figures and tables.")] = Path(
        "reproduction"
    ),
    results: Annotated[
        Path | None,
        typer.Option(help="Folder of outcomes: the cache. Default: results, or OUTPUT/results if --quick."),
    ] = None,
    cached: Annotated[bool, typer.Option("--cached", help="Run nothing: use what is in the cache.")] = False,
    workers: Annotated[
        int,
        typer.Option(help="Study runs at once; 0: as many as cores, or as the cluster has places.", min=0),
    ] = 0,
    on: On = "local",
    ray_address: RayAddress = None,
    slurm: SlurmSettings = None,
    shard: ShardOption = "1/1",
    data_dir: DataDir = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Run the paper's study, draw its figures, and say which of its claims hold.

    Every outcome is kept by its content: Ctrl-C saves, the same command goes on, and one more seed runs only that.
    Figures and tables are of all outcomes that are there.
    """
    one_thread()
    from dataclasses import replace

    from dmafl.base.processes.stopping import Interrupted
    from dmafl.cli.seeds import parse_seeds
    from dmafl.experiments.campaign.shard import Shard
    from dmafl.experiments.reproduction.presets import study_of
    from dmafl.experiments.reproduction.reproduce import reproduce as carry_out
    from dmafl.experiments.reproduction.results import Results
    from dmafl.experiments.reproduction.selection import named, needed
    from dmafl.reports.study import derive
    from dmafl.reports.terminal.study_view import StudyView

    study = study_of(preset, quick)
    if seeds is not None:
        study = replace(study, seeds=tuple(parse_seeds(seeds)))
    names = None if only is None else named(only)
    study_runs, part = needed(study, names), Shard.parse(shard)
    where = executor_of(on, ray_address, slurm)
    failures: list[str] = []
    out = printer(as_json, as_csv)
    kept = Results(results if results is not None else output / "results" if quick else COMMITTED)
    if quick and results is None:
        kept.take_constants(Results(COMMITTED))
    if cached and not kept.path.is_dir():
        rule, remedy = "must be the folder of outcomes", "Start in the clone, or name it with --results."
        raise bad_input(str(kept.path), rule, ShownAsIs("no such folder"), remedy)
    if not cached:
        try:
            with StudyView(out) as view:
                failures = carry_out(
                    study,
                    kept,
                    study_runs=study_runs,
                    work=output / "work",
                    workers=at_once(where, workers),
                    on=where,
                    data_dir=data_dir,
                    shard=part,
                    watcher=view,
                )
        except (Interrupted, Stopped):
            raise Stopped("outcomes and states are saved: the same command goes on") from None
    derive(study, kept, output, out, names)
    out.finish()
    for failure in failures:
        sys.stderr.write(f"failed: {visible(failure, lines=True)}\n")
    if failures:
        raise typer.Exit(1)
