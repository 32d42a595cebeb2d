"""`dmafl report`, and the same page live for `dmafl run --serve`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dmafl.base.errors import ShownAsIs, bad_input, visible

if TYPE_CHECKING:
    from rich.console import Console

    from dmafl.reports.html.live import LivePage
    from dmafl.scenario.model import Scenario

HOST = "127.0.0.1"
"""Address of the live page, unless another is asked for."""
SERVED_CHECKPOINT_S = 5.0
"""Longest time between two checkpoints of a run with a live page, which shows what is saved [s]."""

Serve = Annotated[
    bool,
    typer.Option(
        "--serve", help="Show the report in a browser while the run goes on, and write it at the end."
    ),
]
Port = Annotated[
    int | None,
    typer.Option(help="Port of --serve; 0: any that is free. Without: 8400 if it is free.", min=0, max=65535),
]
Host = Annotated[
    str,
    typer.Option(help="Address of --serve. Beyond this machine, anyone who reaches it can read the report."),
]


def report(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR", help="Folders of runs, finished or not.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the page.")] = Path(
        "report.html"
    ),
) -> None:
    """Write a page about one run, or several side by side; it needs no other file and no network."""
    from dmafl.reports.html.report import report as write

    write(folders, output)
    typer.echo(f"Wrote {visible(str(output))} ({output.stat().st_size / 1e6:.1f} MB). Open it in a browser.")


def must_be_served(serve: bool, port: int | None, host: str) -> None:
    """Refuse options of a live page where none is asked for."""
    if not serve and (port is not None or host != HOST):
        name = "--port" if port is not None else "--host"
        given = ShownAsIs(str(port) if port is not None else host)
        raise bad_input(name, "needs --serve", given, f"Add --serve, or leave {name} out.")


@contextmanager
def served(
    serve: bool, folder: Path, host: str, port: int | None, out: Console, scenario: Scenario
) -> Iterator[LivePage | None]:
    """The page of `folder` while the block runs, if asked for; `scenario` is what the run will be of."""
    if not serve:
        yield None
        return
    from dmafl.reports.html.live import LivePage

    with LivePage(folder, host, port, scenario) as page:
        out.print(f"Live report: {page.address}", highlight=False, markup=False)
        yield page


def write_served(page: LivePage | None, folder: Path, out: Console) -> None:
    """The run has ended: update open pages for the last time, and write the report as a file."""
    if page is None:
        return
    from dmafl.reports.html.report import report as write

    page.finish()
    out.print(f"Report: {write([folder], folder / 'report.html')}", highlight=False, markup=False)
