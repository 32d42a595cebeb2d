"""`dmafl licences`."""

from __future__ import annotations

from dmafl.cli.shared import AsCsv, AsJson, printer


def licences(as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """List the licences of this package and of all that it needs to run, as installed here."""
    from dmafl.installation.licences import licences as installed
    from dmafl.reports.terminal.licences_table import print_licences

    out = printer(as_json, as_csv)
    print_licences(out, installed())
    out.finish()
