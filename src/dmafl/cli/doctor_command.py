"""`dmafl doctor`."""

from __future__ import annotations

import typer

from dmafl.cli.shared import AsCsv, AsJson, DataDir, one_thread, printer

CHECK_FAILED = 1


def doctor(data_dir: DataDir = None, as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """Say what is installed, what the machine has, which data and caches there are, and what is missing."""
    one_thread()
    from dmafl.installation.doctor import examine
    from dmafl.reports.terminal.doctor_table import print_findings

    out = printer(as_json, as_csv)
    findings = examine(data_dir)
    print_findings(out, findings)
    out.finish()
    if any(finding.state == "broken" for finding in findings):
        raise typer.Exit(CHECK_FAILED)
