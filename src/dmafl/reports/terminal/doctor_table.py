"""What `dmafl doctor` found, as a table, and what to do."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from dmafl.installation.doctor import Finding
from dmafl.reports.terminal.console import table

MARKS = {"ok": "", "note": "missing", "broken": "BROKEN"}


def print_findings(out: Console, findings: Sequence[Finding]) -> None:
    """All findings, then the remedies of those that need one."""
    rows = table("", "what", "name", "found", "")
    for column in rows.columns:
        column.justify = "left"
    group = ""
    for finding in findings:
        if group and finding.group != group:
            rows.add_section()
        rows.add_row(
            finding.group if finding.group != group else "", finding.name, finding.found, MARKS[finding.state]
        )
        group = finding.group
    out.print(rows)
    for state, title in (("broken", "To mend"), ("note", "If you need it")):
        in_state = [finding for finding in findings if finding.state == state]
        if in_state:
            out.print(f"{title}:")
        for finding in in_state:
            out.print(f"  {finding.name}: {finding.remedy}")
    if not any(finding.state == "broken" for finding in findings):
        out.print("Everything that is required is there.")
