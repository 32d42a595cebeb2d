"""`dmafl sweep`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dmafl.base.errors import visible
from dmafl.cli.completion import offer
from dmafl.cli.executor_options import On, RayAddress, ShardOption, SlurmSettings, at_once, executor_of
from dmafl.cli.shared import (
    AsCsv,
    AsJson,
    DataDir,
    Effort,
    MeasuredFile,
    QualityName,
    ScenarioArgument,
    measured_in,
    one_thread,
    printer,
    say_data,
)
from dmafl.cli.stopping import Stopped
from dmafl.schemes.registry import NAMES


def sweep(
    scenario: ScenarioArgument,
    settings: Annotated[
        list[str],
        typer.Option(
            "--set",
            metavar="KEY=V1,V2,...",
            help="A dotted scenario key and its values; tasks.*.KEY is all tasks. May be repeated.",
        ),
    ],
    scheme: Annotated[
        str, typer.Option(metavar="NAME", help="The scheme run at every point.", autocompletion=offer(*NAMES))
    ] = "dma-fl",
    seeds: Annotated[str | None, typer.Option(metavar="SEEDS", help="Seeds, e.g. 3 or 0-4 or 1,5,7.")] = None,
    plan_only: Annotated[bool, typer.Option("--plan-only", help="Plan every point, train nothing.")] = False,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the sweep.")] = Path("sweep"),
    workers: Annotated[
        int, typer.Option(help="Points at a time; 0: as many as cores, or as the cluster has places.", min=0)
    ] = 0,
    on: On = "local",
    ray_address: RayAddress = None,
    slurm: SlurmSettings = None,
    shard: ShardOption = "1/1",
    effort: Effort = 30.0,
    quality: QualityName = "calibrated",
    measured: MeasuredFile = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Vary settings: a run or a plan for every combination, then quality against energy and every response.

    Points are kept. Ctrl-C saves; the same command goes on, and one with more values does what is new.
    """
    one_thread()
    from dmafl.cli.seeds import parse_seeds
    from dmafl.cli.settings import parse_settings
    from dmafl.experiments.campaign.shard import Shard
    from dmafl.experiments.sweep.sweep import sweep as sweep_scenario
    from dmafl.reports.terminal.sweep_table import sweep_table
    from dmafl.reports.terminal.sweep_view import SweepView
    from dmafl.scenario.toml import load

    where = executor_of(on, ray_address, slurm)
    loaded, values, out = load(scenario), parse_settings(settings), printer(as_json, as_csv)
    say_data(out, loaded, data_dir)
    try:
        with SweepView(out) as view:
            done = sweep_scenario(
                loaded,
                values,
                scheme=scheme,
                seeds=parse_seeds(seeds) if seeds is not None else None,
                plan_only=plan_only,
                output=output,
                workers=at_once(where, workers),
                on=where,
                shard=Shard.parse(shard),
                effort=effort,
                quality=quality,
                data_dir=data_dir,
                measured=measured_in(out, measured, loaded, data_dir),
                watcher=view,
            )
    except (KeyboardInterrupt, Stopped):
        raise Stopped(f"what is done is kept in {visible(str(output))}: the same command goes on.") from None
    out.print(sweep_table(done.table, done.keys))
    for point, problem in done.failures.items():
        out.note(f"{point} cannot be done: {problem}")
    pictures = "pareto.png, responses.png"
    done.plot(done.path / "pareto.png")
    done.plot_responses(done.path / "responses.png")
    out.note(f"Table, points and pictures: {output} (sweep.parquet, {pictures})")
    out.finish()
