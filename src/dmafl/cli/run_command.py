"""`dmafl run`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dmafl.base.errors import ShownAsIs, bad_input, visible
from dmafl.cli.completion import TRACKERS, offer
from dmafl.cli.executor_options import On, RayAddress, SlurmSettings, at_once, executor_of
from dmafl.cli.report_command import (
    HOST,
    SERVED_CHECKPOINT_S,
    Host,
    Port,
    Serve,
    must_be_served,
    served,
    write_served,
)
from dmafl.cli.shared import (
    AsCsv,
    AsJson,
    DataDir,
    Devices,
    Effort,
    ScenarioArgument,
    measured_in,
    one_thread,
    printer,
    run_folder,
    say_data,
)
from dmafl.cli.stopping import Stopped
from dmafl.schemes.registry import NAMES, SETS

if TYPE_CHECKING:
    from dmafl.experiments.run.run import Run
    from dmafl.reports.terminal.console import Terminal


def run(
    scenario: ScenarioArgument,
    scheme: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"{', '.join(NAMES)}; baselines; or all: those that plan once, and the baselines. "
            "Without: dma-fl if there is a plan, else the baselines.",
            autocompletion=offer(*NAMES, *SETS),
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(help="A plan for dma-fl to carry out on its seed, or a list of jobs for scheduled."),
    ] = None,
    seeds: Annotated[str | None, typer.Option(metavar="SEEDS", help="Seeds, e.g. 3 or 0-4 or 1,5,7.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder of the run. [default: runs/NAME]")
    ] = None,
    workers: Annotated[
        int,
        typer.Option(
            help="Processes that train; 0: as many as cores. Elsewhere schemes and seeds at a time; 0: all places.",
            min=0,
        ),
    ] = 0,
    on: On = "local",
    ray_address: RayAddress = None,
    slurm: SlurmSettings = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an interrupted run stopped.")] = False,
    data_dir: DataDir = None,
    checkpoint_s: Annotated[float, typer.Option(help="Seconds between two checkpoints.", min=0.0)] = 20.0,
    tracker: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Also send metrics to tensorboard, mlflow or wandb.",
            autocompletion=offer(*TRACKERS),
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
    host: Host = HOST,
    devices: Devices = False,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Simulate schemes with real training. Ctrl-C saves; --resume goes on, bit for bit."""
    one_thread()
    from dmafl.base.processes.stopping import Interrupted
    from dmafl.cli.seeds import parse_seeds
    from dmafl.experiments.run.folder import RunFolder
    from dmafl.experiments.run.run import run as run_schemes
    from dmafl.reports.terminal.live_view import LiveView
    from dmafl.scenario.toml import load
    from dmafl.schedule.plan_files import read_plan

    if measure and measured is not None:
        rule = "must not go with --measured"
        raise bad_input("--measure", rule, ShownAsIs("both"), "Leave one of them out.")
    must_be_served(serve, port, host)
    where = executor_of(on, ray_address, slurm)
    loaded, out = load(scenario), printer(as_json, as_csv)
    say_data(out, loaded, data_dir)
    folder = run_folder(output, loaded.name)
    if resume and not RunFolder(folder).exists():
        new = f"There is no run in {folder} yet: it starts from the beginning."
        out.print(new)
    try:
        with served(serve, folder, host, port, out, loaded) as page, LiveView(out) as view:
            done = run_schemes(
                loaded,
                read_plan(plan).plan if plan is not None else None,
                schemes=scheme or None,
                seeds=parse_seeds(seeds) if seeds is not None else None,
                measured=measured_in(out, measured, loaded, data_dir),
                measure="first" if measure else "if needed",
                effort=effort,
                output=folder,
                workers=at_once(where, workers),
                on=where,
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
    _print(done, scenario, out, devices)
    out.finish()


def _print(done: Run, scenario: Path, out: Terminal, devices: bool) -> None:
    """The outcome of a run, and where it is."""
    from dmafl.experiments.run.diverged_updates import diverged_notes
    from dmafl.reports.terminal import run_notes
    from dmafl.reports.terminal.run_devices_table import run_devices_table
    from dmafl.reports.terminal.run_table import enormous_losses, outcome_table

    out.print(outcome_table(done.metrics))
    if devices:
        out.print(run_devices_table(done))
    manifest = done.manifest
    notes = [run_notes.data_note(manifest), *run_notes.lost_notes(manifest), *run_notes.absence_notes(done)]
    notes += run_notes.short_notes(manifest) + run_notes.checked_notes(manifest)
    notes += [line[0].upper() + line[1:] for line in diverged_notes(manifest)]
    notes += enormous_losses(done.metrics)
    notes += _without_prediction(done, scenario)
    for note in notes:
        out.note(note)
    pictures = "accuracy.png", "quality.png"
    done.plot(done.path / pictures[0])
    done.plot_quality(done.path / pictures[1])
    out.note(f"Metrics, periods, models and pictures: {done.path} ({', '.join(pictures)})")


def _without_prediction(done: Run, scenario: Path) -> list[str]:
    """Which seeds have no prediction, and which command would give them one."""
    without = done.seeds_without_prediction
    if not without:
        return []
    names = ", ".join(map(str, without))
    some = f" for seed{'s' if len(without) > 1 else ''} {names}" if done.measured else ""
    if without == [done.scenario.seed]:
        return [f"No prediction and no bounds{some}: `dmafl measure {scenario}` adds them to the next run."]
    seeds = names.replace(", ", ",")
    remedy = f"`dmafl run {scenario} --seeds {seeds} --measure` measures every seed first."
    return [f"No prediction and no bounds{some}: {remedy}"]
