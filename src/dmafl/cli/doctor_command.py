"""`dmafl doctor`."""

from __future__ import annotations

import typer

from dmafl.cli.shared import DataDir, one_thread

CHECK_FAILED = 1


def doctor(data_dir: DataDir = None) -> None:
    """Say what is installed, what the machine has, which data and caches there are, and what is missing."""
    one_thread()
    from dmafl.installation.doctor import examine
    from dmafl.reports.terminal.console import console
    from dmafl.reports.terminal.doctor_table import print_findings

    findings = examine(data_dir)
    print_findings(console(), findings)
    if any(finding.state == "broken" for finding in findings):
        raise typer.Exit(CHECK_FAILED)
