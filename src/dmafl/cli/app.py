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
    from dmafl.report.world_tables import print_world
    from dmafl.scenario.toml import load
    from dmafl.world.world import World

    world = World.resolve(load(scenario))
    print_world(world, data_dir=data_dir, with_data=not no_data)


@app.command()
def verify(
    plan: Annotated[Path, typer.Argument(help="A plan.json or plan.parquet.")],
) -> None:
    """Re-check every rule of a plan from its file alone; exit 1 and say which failed."""
    from dmafl.plan.verify import verify_plan
    from dmafl.report.check_table import print_checks

    checks = verify_plan(plan)
    print_checks(checks, title=str(plan))
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
            f"error: `{error.filename or 'file'}` must be readable or writable; got {error.strerror}. "
            "Check the path, its permissions and the free space.\n"
        )
        sys.exit(BAD_INPUT)
