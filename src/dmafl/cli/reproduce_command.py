"""`dmafl reproduce`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dmafl.base.errors import ShownAsIs, bad_input, visible
from dmafl.cli.shared import AsCsv, AsJson, DataDir, one_thread, printer, process_count
from dmafl.cli.stopping import Stopped

if TYPE_CHECKING:
    from dmafl.experiments.reproduction.shard import Shard

COMMITTED = Path("results")
"""Outcomes and constants that come with a clone."""


def reproduce(
    quick: Annotated[
        bool, typer.Option("--quick", help="A small but real version: one partition, two seeds, few slots.")
    ] = False,
    only: Annotated[
        str | None,
        typer.Option(help="Run only what these need: claims, e.g. C1,C6, or groups, e.g. baselines."),
    ] = None,
    preset: Annotated[str, typer.Option(help="paper or phone.")] = "phone",
    seeds: Annotated[str | None, typer.Option(help="Seeds, e.g. 300-304 or 300,305.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of figures and tables.")] = Path(
        "reproduction"
    ),
    results: Annotated[
        Path | None,
        typer.Option(help="Folder of outcomes: the cache. Default: results, or OUTPUT/results if --quick."),
    ] = None,
    cached: Annotated[bool, typer.Option("--cached", help="Run nothing: use what is in the cache.")] = False,
    workers: Annotated[int, typer.Option(help="Study runs at once; 0: as many as cores.", min=0)] = 0,
    shard: Annotated[str, typer.Option(help="K/N: take only this part of what is missing.")] = "1/1",
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
    study_runs, part = needed(study, names), _shard(shard)
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
                    workers=process_count(workers),
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


def _shard(text: str) -> Shard:
    from dmafl.experiments.reproduction.shard import Shard

    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise bad_input("shard", "must be K/N with 1 <= K <= N", text, "For two machines: 1/2 and 2/2.")
    return Shard(int(number) - 1, int(count))
