"""`dmafl licences`."""

from __future__ import annotations

from dmafl.cli.shared import AsCsv, AsJson, printer


def licences(as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """List the licences of this package and of all that it needs to run, as installed here."""
    from dmafl.installation.licences import UNKNOWN
    from dmafl.installation.licences import licences as installed
    from dmafl.reports.tables.table import Table

    packages = installed()
    out = printer(as_json, as_csv)
    columns = {"name": "package", "version": "version", "licence": "licence"}
    rows = ((package.name, package.version, package.licence) for package in packages)
    out.print(Table.made("licences", "Licences", columns, rows, left=["version", "licence"]))
    unknown = [package.name for package in packages if package.licence == UNKNOWN]
    if unknown:
        out.note(f"Without a stated licence: {', '.join(unknown)}. Look at their pages.")
    out.finish()
