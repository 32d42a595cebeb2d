"""All commands of `dmafl`. Heavy modules are imported inside the command that needs them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from dmafl.cli import data_commands
from dmafl.errors import BadInput, ShownAsIs, bad_input
from dmafl.version import __version__

CHECK_FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130

app = typer.Typer(
    name="dmafl",
    help="Plan, simulate and compare asynchronous multi-model federated learning over wireless networks.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(data_commands.app, name="data")

ScenarioArgument = Annotated[Path, typer.Argument(help="A scenario file, see `dmafl init`.")]
DataDir = Annotated[
    Path | None,
    typer.Option(help="Folder with mnist.npz, fashion_mnist.npz, svhn.npz or your own NAME.npz."),
]


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


@app.command()
def init(
    preset: Annotated[str, typer.Option(help="paper, phone or demo.")] = "demo",
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write.")] = Path("scenario.toml"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write a commented scenario.toml with every setting, its unit, range and meaning."""
    from dmafl.scenario.presets import preset as named
    from dmafl.scenario.toml import save

    scenario = named(preset)
    if output.exists() and not force:
        raise bad_input(
            str(output), "must not exist yet", ShownAsIs("an existing file"), "Use --force to overwrite it."
        )
    save(scenario, output)
    typer.echo(f"Wrote {output} (preset {preset}). Next: dmafl check {output}")


@app.command()
def check(
    scenario: ScenarioArgument,
    data_dir: DataDir = None,
    no_data: Annotated[bool, typer.Option("--no-data", help="Do not look for the data sets.")] = False,
) -> None:
    """Validate a scenario and print the world it resolves to."""
    from dmafl.reports.world_tables import print_world
    from dmafl.scenario.toml import load
    from dmafl.world.world import World

    world = World.resolve(load(scenario))
    print_world(world, data_dir=data_dir, with_data=not no_data)


@app.command()
def run(
    scenario: ScenarioArgument,
    scheme: Annotated[
        list[str] | None,
        typer.Option(help="fedasync, fedavg-full, fedavg-partial, fedbuff, scheduled; or all."),
    ] = None,
    plan: Annotated[Path | None, typer.Option(help="The plan that `scheduled` carries out.")] = None,
    seeds: Annotated[str | None, typer.Option(help="Seeds, e.g. 3 or 0-4 or 1,5,7.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder of the run.")] = None,
    workers: Annotated[int, typer.Option(help="Processes that train; 0: as many as cores.", min=0)] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an interrupted run stopped.")] = False,
    data_dir: DataDir = None,
    checkpoint_s: Annotated[float, typer.Option(help="Seconds between two checkpoints.", min=0.0)] = 20.0,
    tracker: Annotated[
        list[str] | None, typer.Option(help="Also send metrics to tensorboard, mlflow or wandb.")
    ] = None,
) -> None:
    """Simulate schemes with real training. Ctrl-C saves; --resume goes on, bit for bit."""
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
    from dmafl.cli.seeds import parse_seeds
    from dmafl.plans.files import read_plan
    from dmafl.reports.console import console
    from dmafl.reports.live_view import LiveView
    from dmafl.reports.run_table import outcome_table
    from dmafl.runs.execute import Interrupted
    from dmafl.runs.run import run as run_schemes
    from dmafl.scenario.toml import load
    from dmafl.schemes.registry import BASELINES

    loaded = load(scenario)
    planned = read_plan(plan).plan if plan is not None else None
    folder = output if output is not None else Path("runs") / loaded.name
    names = None if not scheme else list(dict.fromkeys(scheme))
    if names is not None and "all" in names:
        names = [*BASELINES, *(["scheduled"] if planned is not None else [])]
    out = console()
    try:
        with LiveView(out) as view:
            done = run_schemes(
                loaded,
                planned,
                schemes=names,
                seeds=parse_seeds(seeds) if seeds is not None else None,
                output=folder,
                workers=workers if workers > 0 else os.cpu_count() or 1,
                resume=resume,
                data_dir=data_dir,
                checkpoint_every_s=checkpoint_s,
                watcher=view,
                trackers=tracker or [],
            )
    except Interrupted:
        sys.stderr.write(f"interrupted; state saved. Go on with --resume and -o {folder}\n")
        raise typer.Exit(INTERRUPTED) from None
    out.print(outcome_table(done.metrics))
    picture = done.plot()
    out.print(f"Metrics, periods, models and picture: {folder} ({picture.name})", highlight=False)


@app.command()
def verify(
    path: Annotated[Path, typer.Argument(help="A plan.json or plan.parquet, or the folder of a run.")],
) -> None:
    """Re-check every invariant of a plan or a run from its files alone; exit 1 and say which failed."""
    from dmafl.reports.check_table import print_checks

    if path.is_dir():
        from dmafl.runs.verify import verify_run

        checks = verify_run(path)
    else:
        from dmafl.plans.verify import verify_plan

        checks = verify_plan(path)
    print_checks(checks, title=str(path))
    if not all(check.ok for check in checks):
        raise typer.Exit(CHECK_FAILED)


def main() -> None:
    """Run the command; bad input is one message and exit code 2, never a traceback."""
    try:
        app()
    except BadInput as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output went away (`dmafl check ... | head`): not an error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        sys.stderr.write(
            f"error: `{error.filename or 'file'}` must be readable or writable; got {error.strerror or error}. "
            "Check the path, its permissions and the free space.\n"
        )
        sys.exit(BAD_INPUT)
