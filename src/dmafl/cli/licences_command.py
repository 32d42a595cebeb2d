"""`dmafl licences`."""

from __future__ import annotations

from typing import Annotated

import typer


def licences(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for other programs.")] = False,
) -> None:
    """List the licences of this package and of all that it needs to run, as installed here."""
    import json
    from dataclasses import asdict

    from dmafl.installation.licences import UNKNOWN
    from dmafl.installation.licences import licences as installed
    from dmafl.reports.terminal.console import console, table

    packages = installed()
    if as_json:
        typer.echo(json.dumps([asdict(package) for package in packages], indent=1))
        return
    rows = table("Licences", "package", "version", "licence")
    for column in rows.columns:
        column.justify = "left"
    for package in packages:
        rows.add_row(package.name, package.version, package.licence)
    out = console()
    out.print(rows)
    unknown = [package.name for package in packages if package.licence == UNKNOWN]
    if unknown:
        out.print(f"Without a stated licence: {', '.join(unknown)}. Look at their pages.")
