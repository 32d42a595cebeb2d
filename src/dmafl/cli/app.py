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
    deploy_command,
    doctor_command,
    licences_command,
    measure_command,
    plan_command,
    profile_command,
    replan_command,
    report_command,
    reproduce_command,
    run_command,
    size_command,
    sweep_command,
)
from dmafl.cli.completion import PRESETS, offer
from dmafl.cli.shared import AsCsv, AsJson, DataDir, ScenarioArgument, printer, say_data
from dmafl.cli.stopping import Stopped, guarded
from dmafl.cli.streams import complain, take_any_text

CHECK_FAILED, BAD_INPUT = 1, 2


class Commands(typer.core.TyperGroup):
    """The commands. A stop passes as `Stopped`: what it says of the work that is kept must reach the user."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise Stopped(str(stop)) from None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """What each command does in a whole sentence, which may take several lines."""
        helps = {name: self.commands[name].help or "" for name in self.list_commands(ctx)}
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, " ".join(told.split("\n\n")[0].split())) for name, told in helps.items()]
            )


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
app.add_typer(deploy_command.app, name="deploy")


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
        str, typer.Option(metavar="NAME", help="paper, phone or demo.", autocompletion=offer(*PRESETS))
    ] = "demo",
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write.")] = Path("scenario.toml"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write a commented scenario.toml with every setting, its unit, range and meaning."""
    from dmafl.scenario.preset import preset as named
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
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Validate a scenario and print the world it resolves to."""
    from dmafl.reports.terminal.world_tables import print_world
    from dmafl.scenario.toml import load
    from dmafl.world.world import World

    out = printer(as_json, as_csv)
    loaded = load(scenario)
    if not no_data:
        say_data(out, loaded, data_dir)
    print_world(out, World.resolve(loaded), data_dir=data_dir, with_data=not no_data)
    out.finish()


app.command()(measure_command.measure)
app.command()(plan_command.plan)
app.command()(size_command.size)
app.command()(replan_command.replan)


app.command()(run_command.run)


@app.command()
def verify(
    path: Annotated[Path, typer.Argument(help="A plan.json or plan.parquet, or the folder of a run.")],
    retest: Annotated[
        bool, typer.Option("--retest", help="Of a run: test its last models again, with the data.")
    ] = False,
    data_dir: Annotated[
        Path | None, typer.Option("--data-dir", help="Folder with data sets (NAME.npz), for --retest.")
    ] = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Re-check every invariant of a plan or a run from its files alone; exit 1 and say which failed."""
    from dmafl.reports.terminal.check_table import print_checks

    out = printer(as_json, as_csv)
    if path.is_dir():
        from dmafl.experiments.run.verify import verify_run

        checks = verify_run(path, retest=retest, data_dir=data_dir)
    else:
        from dmafl.schedule.plan_verification import verify_plan

        checks = verify_plan(path)
    print_checks(out, checks, title=str(path))
    out.finish()
    if not all(check.ok for check in checks):
        raise typer.Exit(CHECK_FAILED)


app.command()(compare_command.compare)
app.command()(report_command.report)
app.command()(sweep_command.sweep)
app.command()(reproduce_command.reproduce)
app.command()(profile_command.profile)
app.command()(doctor_command.doctor)
app.command()(licences_command.licences)


def main() -> None:
    """Run the command and leave the process to end; never a traceback."""
    guarded(command_line)


def command_line() -> None:
    """Run the command; bad input is one message and exit code 2."""
    take_any_text()
    try:
        app()
    except BadInput as error:
        complain(str(error))
        sys.exit(BAD_INPUT)
    except UnicodeEncodeError as error:  # the name of a file, where the system has no UTF-8
        complain(
            f"`{visible(error.object)}` must have signs that this system's {error.encoding} has; got "
            f"{error.object[error.start : error.end]!a}. Set PYTHONUTF8=1 in the environment, or rename it."
        )
        sys.exit(BAD_INPUT)
    except BrokenPipeError:
        # The reader of our output went away (`dmafl check ... | head`): not an error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        complain(str(file_trouble(error)))
        sys.exit(BAD_INPUT)
