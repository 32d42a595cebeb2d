"""`dmafl run`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dmafl.base.errors import ShownAsIs, bad_input, visible
from dmafl.cli.completion import TRACKERS, offer
from dmafl.cli.report_command import SERVED_CHECKPOINT_S, Host, Port, Serve, served, write_served
from dmafl.cli.shared import DataDir, Effort, ScenarioArgument, one_thread, process_count
from dmafl.cli.stopping import Stopped
from dmafl.schemes.registry import NAMES, SETS

if TYPE_CHECKING:
    from rich.console import Console

    from dmafl.experiments.run.run import Run


def run(
    scenario: ScenarioArgument,
    scheme: Annotated[
        list[str] | None,
        typer.Option(
            help=f"{', '.join(NAMES)}; baselines; or all: those that plan once, and the baselines. "
            "Without: dma-fl if there is a plan, else the baselines.",
            autocompletion=offer(*NAMES, *SETS),
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(help="A plan for dma-fl to carry out on its seed, or a list of jobs for scheduled."),
    ] = None,
    seeds: Annotated[str | None, typer.Option(help="Seeds, e.g. 3 or 0-4 or 1,5,7.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder of the run. [default: runs/NAME]")
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes that train; 0: as many as cores.", min=0)] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an interrupted run stopped.")] = False,
    data_dir: DataDir = None,
    checkpoint_s: Annotated[float, typer.Option(help="Seconds between two checkpoints.", min=0.0)] = 20.0,
    tracker: Annotated[
        list[str] | None,
        typer.Option(
            help="Also send metrics to tensorboard, mlflow or wandb.", autocompletion=offer(*TRACKERS)
        ),
    ] = None,
    measured: Annotated[
        Path | None,
        typer.Option(help="What `dmafl measure` wrote: adds prediction and bounds. Without: what is kept."),
    ] = None,
    effort: Effort = 30.0,
    measure: Annotated[
        bool, typer.Option("--measure", help="Measure first, for every seed, unless it is kept.")
    ] = False,
    serve: Serve = False,
    port: Port = None,
    host: Host = "127.0.0.1",
) -> None:
    """Simulate schemes with real training. Ctrl-C saves; --resume goes on, bit for bit."""
    one_thread()
    from dmafl.base.files import file_name
    from dmafl.base.processes.stopping import Interrupted
    from dmafl.calibration.measured import read_measured
    from dmafl.cli.seeds import parse_seeds
    from dmafl.experiments.run.folder import RunFolder
    from dmafl.experiments.run.run import run as run_schemes
    from dmafl.reports.terminal.console import console
    from dmafl.reports.terminal.live_view import LiveView
    from dmafl.scenario.toml import load
    from dmafl.schedule.plan_files import read_plan

    if measure and measured is not None:
        rule = "must not go with --measured"
        raise bad_input("--measure", rule, ShownAsIs("both"), "Leave one of them out.")
    loaded, out = load(scenario), console()
    folder = output if output is not None else Path("runs") / file_name(loaded.name)
    if resume and not RunFolder(folder).exists():
        new = f"There is no run in {folder} yet: it starts from the beginning."
        out.print(new, highlight=False, markup=False)
    try:
        with served(serve, folder, host, port, out) as page, LiveView(out) as view:
            done = run_schemes(
                loaded,
                read_plan(plan).plan if plan is not None else None,
                schemes=scheme or None,
                seeds=parse_seeds(seeds) if seeds is not None else None,
                measured=read_measured(measured) if measured is not None else None,
                measure="first" if measure else "if needed",
                effort=effort,
                output=folder,
                workers=process_count(workers),
                resume=resume,
                data_dir=data_dir,
                checkpoint_every_s=min(checkpoint_s, SERVED_CHECKPOINT_S) if serve else checkpoint_s,
                watcher=view,
                trackers=tracker or [],
            )
            write_served(page, folder, out)
    except Interrupted:
        raise Stopped(f"state saved. Go on with --resume and -o {visible(str(folder))}") from None
    except Stopped:
        raise Stopped(f"go on with --resume and -o {visible(str(folder))}") from None
    _print(done, scenario, out)


def _print(done: Run, scenario: Path, out: Console) -> None:
    """The outcome of a run, and where it is."""
    from dmafl.experiments.run.diverged_updates import diverged_notes
    from dmafl.reports.terminal.run_table import enormous_losses, outcome_table

    out.print(outcome_table(done.metrics))
    notes = [line[0].upper() + line[1:] for line in diverged_notes(done.manifest)]
    notes += enormous_losses(done.metrics)
    without = done.seeds_without_prediction
    if without:
        seeds = f" for seed{'s' if len(without) > 1 else ''} {', '.join(map(str, without))}"
        some = seeds if done.measured else ""
        notes.append(
            f"No prediction and no bounds{some}: `dmafl measure {scenario}` adds them to the next run."
        )
    for note in notes:
        out.print(note, highlight=False, markup=False)
    pictures = "accuracy.png", "quality.png"
    done.plot(done.path / pictures[0])
    done.plot_quality(done.path / pictures[1])
    out.print(f"Metrics, periods, models and pictures: {done.path} ({', '.join(pictures)})", highlight=False)
