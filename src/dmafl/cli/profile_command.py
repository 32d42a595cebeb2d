"""`dmafl profile`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dmafl.base.errors import bad_input
from dmafl.cli.shared import AsCsv, AsJson, DataDir, one_thread, printer, say_data


def profile(
    scenario: Annotated[
        Path | None,
        typer.Argument(help="A scenario file whose tasks are trained. Left out: the preset demo."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A device table, .csv: this machine becomes a row of it."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Of this machine in the table. Left out: its host name.")
    ] = None,
    seconds: Annotated[float, typer.Option(help="Time for all tasks together.", min=0.1, max=86_400)] = 10.0,
    frequency_Hz: Annotated[
        float | None,
        typer.Option("--frequency-Hz", help="Clock of the processor, where the system does not tell it."),
    ] = None,
    more: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="COLUMN=VALUE", help="What of the row is not measured, e.g. distance_m=5."
        ),
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Measure this machine: seconds and joules of a training step, cycles of a sample, for each task.

    With -o it becomes a row of a device table, or its row is brought up to date; all else in the table stays.
    """
    one_thread()
    from dmafl.machine.profile import profile as profile_machine
    from dmafl.reports.terminal.profile_table import print_profile
    from dmafl.reports.terminal.profile_view import ProfileView
    from dmafl.scenario.preset import preset
    from dmafl.scenario.toml import load

    out = printer(as_json, as_csv)
    given = _given(more or [], output)
    loaded = preset("demo") if scenario is None else load(scenario)
    say_data(out, loaded, data_dir)
    with ProfileView(out) as view:
        measured = profile_machine(
            loaded, name=name, seconds=seconds, frequency_Hz=frequency_Hz, data_dir=data_dir, watcher=view
        )
    print_profile(out, measured)
    if output is not None:
        left_out = measured.write(output, given)
        out.note(f"Wrote the row {measured.name} into {output}")
        if left_out:
            out.note(f"Not written, since other rows have no value: {', '.join(left_out)}.")
    out.finish()


def _given(more: list[str], output: Path | None) -> dict[str, Any]:
    """The values of --set, one for each column."""
    from dmafl.cli.settings import parse_settings

    given = parse_settings(more)
    if given and output is None:
        raise bad_input("--set", "must go with -o", ", ".join(given), "Name a table: -o devices.csv.")
    for column, values in given.items():
        if len(values) != 1:
            raise bad_input(f"--set {column}", "must be one value", values, "Write e.g. distance_m=5.")
    return {column: values[0] for column, values in given.items()}
