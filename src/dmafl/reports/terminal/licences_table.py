"""Licences as a table."""

from __future__ import annotations

from collections.abc import Sequence

from dmafl.installation.licences import UNKNOWN, Licensed
from dmafl.reports.tables.table import Table
from dmafl.reports.terminal.console import Terminal


def print_licences(out: Terminal, packages: Sequence[Licensed]) -> None:
    """Every package, then those that state no licence."""
    columns = {"name": "package", "version": "version", "licence": "licence"}
    rows = ((package.name, package.version, package.licence) for package in packages)
    out.print(Table.made("licences", "Licences", columns, rows, left=["version", "licence"]))
    unknown = [package.name for package in packages if package.licence == UNKNOWN]
    if unknown:
        out.note(f"Without a stated licence: {', '.join(unknown)}. Look at their pages.")
