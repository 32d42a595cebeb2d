"""All commands of `dmafl`. Heavy modules are imported inside the command that needs them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from dmafl.base.errors import BadInput, ShownAsIs, bad_input, file_trouble, visible
from dmafl.base.version import __version__
from dmafl.cli import (
    compare_command,
    data_commands,
    doctor_command,
    licences_command,
    measure_command,
    plan_command,
    replan_command,
    report_command,
    reproduce_command,
    sweep_command,
)
from dmafl.cli.completion import GROUPS, PRESETS, SCHEMES, TRACKERS, offer
from dmafl.cli.shared import DataDir, Effort, ScenarioArgument, one_thread, process_count
from dmafl.cli.stopping import Stopped, guarded
from dmafl.cli.streams import take_any_text

CHECK_FAILED, BAD_INPUT = 1, 2


class Commands(typer.core.TyperGroup):
    """The commands. A stop passes as `Stopped`: what it says of the work that is kept must reach the user."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise Stopped(str(stop)) from None


app = typer.Typer(
    name="dmafl",
    cls=Commands,
    help="Plan, simulate and compare asynchronous multi-model federated learning over wireless networks.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(data_commands.app, name="data")


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


@app.command()
def init(
    preset: Annotated[
        str, typer.Option(help="paper, phone or demo.", autocompletion=offer(*PRESETS))
    ] = "demo",
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write.")] = Path("scenario.toml"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write a commented scenario.toml with every setting, its unit, range and meaning."""
    from dmafl.scenario.presets import preset as named
    from dmafl.scenario.toml import save

    scenario = named(preset)
    if output.is_dir():
        raise bad_input(str(output), "must be a file", ShownAsIs("a directory"), "Name the file inside it.")
    if output.exists() and not force:
        raise bad_input(
            str(output), "must not exist yet", ShownAsIs("an existing file"), "Use --force to overwrite it."
        )
    save(scenario, output)
    shown = visible(str(output))
    typer.echo(f"Wrote {shown} (preset {preset}). Next: dmafl check {shown}")


@app.command()
def check(
    scenario: ScenarioArgument,
    data_dir: DataDir = None,
    no_data: Annotated[bool, typer.Option("--no-data", help="Do not look for the data sets.")] = False,
) -> None:
    """Validate a scenario and print the world it resolves to."""
    from dmafl.reports.terminal.world_tables import print_world
    from dmafl.scenario.toml import load
    from dmafl.world.world import World

    world = World.resolve(load(scenario))
    print_world(world, data_dir=data_dir, with_data=not no_data)


app.command()(measure_command.measure)
app.command()(plan_command.plan)
app.command()(replan_command.replan)


@app.command()
def run(
    scenario: ScenarioArgument,
    scheme: Annotated[
        list[str] | None,
        typer.Option(
            help="dma-fl, dma-fl-nr, dma-fl-ns, dma-fl-online, fedasync, fedavg-full, fedavg-partial, fedbuff, "
            "scheduled; baselines; or all: the first three, the baselines, and the plan if given. Without: the plan, "
            "else the baselines.",
            autocompletion=offer(*SCHEMES, *GROUPS),
        ),
    ] = None,
    plan: Annotated[Path | None, typer.Option(help="The plan that `scheduled` carries out.")] = None,
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
    serve: report_command.Serve = False,
    port: report_command.Port = None,
    host: report_command.Host = "127.0.0.1",
) -> None:
    """Simulate schemes with real training. Ctrl-C saves; --resume goes on, bit for bit."""
    one_thread()
    from dmafl.base.files import file_name
    from dmafl.base.processes.stopping import Interrupted
    from dmafl.cli.measured_for_run import given_or_measured, missing
    from dmafl.cli.seeds import parse_seeds
    from dmafl.cli.shared import measured_of
    from dmafl.experiments.run.diverged_updates import left_out
    from dmafl.experiments.run.folder import RunFolder
    from dmafl.experiments.run.run import run as run_schemes
    from dmafl.reports.terminal.console import console
    from dmafl.reports.terminal.live_view import LiveView
    from dmafl.reports.terminal.run_table import enormous_losses, outcome_table
    from dmafl.scenario.toml import load
    from dmafl.schedule.plan_files import read_plan
    from dmafl.schemes.registry import BASELINES, PLANNING

    loaded = load(scenario)
    planned = read_plan(plan).plan if plan is not None else None
    folder = output if output is not None else Path("runs") / file_name(loaded.name)
    names = None if not scheme else list(dict.fromkeys(scheme))
    if names is not None and "all" in names:
        names = [*PLANNING[:3], *BASELINES, *(["scheduled"] if planned is not None else [])]
    if names is not None and "baselines" in names:
        names = list(dict.fromkeys([*(name for name in names if name != "baselines"), *BASELINES]))
    out = console()
    count = process_count(workers)
    own_seed = planned.world.scenario.seed if planned is not None else loaded.seed
    chosen = parse_seeds(seeds) if seeds is not None else [own_seed]
    goes_on = resume and RunFolder(folder).exists()
    if resume and not goes_on:
        told = f"There is no run in {folder} yet: it starts from the beginning."
        out.print(told, highlight=False, markup=False)
    first = measure and not goes_on  # a run goes on with what it began with
    constants = given_or_measured(loaded, chosen, measured, first, count, data_dir, out)
    if constants is None and set(names or ()) & set(PLANNING):
        measured_of(loaded, out, workers=count, data_dir=data_dir)  # kept: the run finds it
    try:
        with report_command.served(serve, folder, host, port, out) as page, LiveView(out) as view:
            done = run_schemes(
                loaded,
                planned,
                schemes=names,
                seeds=chosen,
                measured=constants,
                effort=effort,
                output=folder,
                workers=count,
                resume=resume,
                data_dir=data_dir,
                checkpoint_every_s=min(checkpoint_s, report_command.SERVED_CHECKPOINT_S)
                if serve
                else checkpoint_s,
                watcher=view,
                trackers=tracker or [],
            )
            report_command.write_served(page, folder, out)
    except Interrupted:
        raise Stopped(f"state saved. Go on with --resume and -o {visible(str(folder))}") from None
    except Stopped:
        raise Stopped(f"go on with --resume and -o {visible(str(folder))}") from None
    out.print(outcome_table(done.metrics))
    for line in left_out(done.manifest):
        out.print(line[0].upper() + line[1:], highlight=False, markup=False)
    for line in enormous_losses(done.metrics):
        out.print(line, highlight=False, markup=False)
    note = missing(done, scenario)
    if note:
        out.print(note, highlight=False, markup=False)
    pictures = done.plot().name, done.plot_quality().name
    out.print(f"Metrics, periods, models and pictures: {folder} ({', '.join(pictures)})", highlight=False)


@app.command()
def verify(
    path: Annotated[Path, typer.Argument(help="A plan.json or plan.parquet, or the folder of a run.")],
    retest: Annotated[
        bool, typer.Option("--retest", help="Of a run: test its last models again, with the data.")
    ] = False,
    data_dir: Annotated[
        Path | None, typer.Option("--data-dir", help="Folder with data sets (NAME.npz), for --retest.")
    ] = None,
) -> None:
    """Re-check every invariant of a plan or a run from its files alone; exit 1 and say which failed."""
    from dmafl.reports.terminal.check_table import print_checks

    if path.is_dir():
        from dmafl.experiments.run.verify import verify_run

        checks = verify_run(path, retest=retest, data_dir=data_dir)
    else:
        from dmafl.schedule.plan_verification import verify_plan

        checks = verify_plan(path)
    print_checks(checks, title=str(path))
    if not all(check.ok for check in checks):
        raise typer.Exit(CHECK_FAILED)


app.command()(compare_command.compare)
app.command()(doctor_command.doctor)
app.command()(licences_command.licences)
app.command()(report_command.report)
app.command()(reproduce_command.reproduce)
app.command()(sweep_command.sweep)


def main() -> None:
    """Run the command and leave the process to end; never a traceback."""
    guarded(run_command)


def run_command() -> None:
    """Run the command; bad input is one message and exit code 2."""
    take_any_text()
    try:
        app()
    except BadInput as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(BAD_INPUT)
    except UnicodeEncodeError as error:  # the name of a file, where the system has no UTF-8
        sys.stderr.write(
            f"error: `{visible(error.object)}` must have signs that this system's {error.encoding} has; got "
            f"{error.object[error.start : error.end]!a}. Set PYTHONUTF8=1 in the environment, or rename it.\n"
        )
        sys.exit(BAD_INPUT)
    except BrokenPipeError:
        # The reader of our output went away (`dmafl check ... | head`): not an error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        sys.stderr.write(f"error: {file_trouble(error)}\n")
        sys.exit(BAD_INPUT)
