"""`dmafl data list` and `dmafl data fetch`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dmafl.cli.completion import DATA, offer
from dmafl.cli.stopping import Stopped

app = typer.Typer(help="Data sets: what is there, and fetching the full public ones.", no_args_is_help=True)

DataDir = Annotated[Path | None, typer.Option(help="Look here first.")]


@app.command("list")
def list_(data_dir: DataDir = None) -> None:
    """Say which data sets are there and where they come from."""
    from dmafl.data import available
    from dmafl.reports.terminal.console import console, table

    rows = table("Data sets", "name", "train", "test", "source", "licence", "note")
    for position in (3, 4, 5):
        rows.columns[position].justify = "left"
    for dataset in available(data_dir):
        notes = [
            "stand-in for SVHN" if dataset.stand_in else "",
            "" if dataset.used else "hidden by the one above",
            dataset.problem,
        ]
        rows.add_row(
            dataset.name,
            f"{dataset.train:,}",
            f"{dataset.test:,}",
            str(dataset.source),
            dataset.licence,
            ", ".join(filter(None, notes)),
        )
    console().print(rows)


@app.command()
def fetch(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="mnist, fashion_mnist, svhn; all if none is named.", autocompletion=offer(*DATA)),
    ] = None,
    into: Annotated[
        Path | None, typer.Option(help="Folder to put them in (default: the user cache).")
    ] = None,
) -> None:
    """Download full public data sets, check and cache them. The only command that downloads anything."""
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    from dmafl.data import fetch as fetch_data
    from dmafl.reports.terminal.console import NameColumn, console

    out = console()
    columns = (
        NameColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=out, disable=not out.is_terminal) as progress:
        bar = progress.add_task("fetching", total=None)

        def show(done: int, total: int) -> None:
            progress.update(bar, completed=done, total=total)

        try:
            paths = fetch_data(names or list(DATA), into=into, progress=show)
        except Stopped:
            raise Stopped("data sets that are complete are kept: the same command goes on") from None
    for path in paths:
        out.print(f"Wrote {path}", highlight=False)
