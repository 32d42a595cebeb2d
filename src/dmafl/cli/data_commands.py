"""`dmafl data list` and `dmafl data fetch`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dmafl.cli.completion import DATA, offer
from dmafl.cli.shared import AsCsv, AsJson, printer
from dmafl.cli.stopping import Stopped

app = typer.Typer(help="Data sets: what is there, and fetching the full public ones.", no_args_is_help=True)

DataDir = Annotated[Path | None, typer.Option(help="Look here first.")]


@app.command("list")
def list_(data_dir: DataDir = None, as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """Say which data sets are there and where they come from."""
    from dmafl.data import available
    from dmafl.reports.tables.table import Table, count

    columns = {
        "name": "name",
        "train": "train",
        "test": "test",
        "source": "source",
        "licence": "licence",
        "note": "note",
    }
    rows = []
    for dataset in available(data_dir):
        notes = [
            "stand-in for SVHN" if dataset.stand_in else "",
            "" if dataset.used else "hidden by the one above",
            dataset.problem,
        ]
        note = ", ".join(filter(None, notes))
        sizes = count(dataset.train), count(dataset.test)
        rows.append((dataset.name, *sizes, str(dataset.source), dataset.licence, note))
    out = printer(as_json, as_csv)
    out.print(Table.made("data", "Data sets", columns, rows, left=["source", "licence", "note"]))
    out.finish()


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
