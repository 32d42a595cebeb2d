"""What `dmafl doctor` found, as a table, and what to do."""

from __future__ import annotations

from collections.abc import Sequence

from dmafl.installation.doctor import Finding
from dmafl.reports.tables.table import Table, cell
from dmafl.reports.terminal.console import Terminal

MARKS = {"ok": "", "note": "missing", "broken": "BROKEN"}


def findings_table(findings: Sequence[Finding]) -> Table:
    """One row per finding; its group stands in the first row of the group."""
    columns = {"group": "what", "name": "name", "found": "found", "state": "", "remedy": "remedy"}
    groups = ["", *(finding.group for finding in findings)]
    rows = (
        (
            cell(finding.group, "" if finding.group == before else finding.group),
            finding.name,
            finding.found,
            cell(finding.state, MARKS[finding.state]),
            finding.remedy,
        )
        for finding, before in zip(findings, groups, strict=False)
    )
    left = ("name", "found", "state")
    return Table.made("findings", "", columns, rows, left=left, only_in_files=["remedy"], sections=["group"])


def print_findings(out: Terminal, findings: Sequence[Finding]) -> None:
    """All findings, then the remedies of those that need one."""
    out.print(findings_table(findings))
    for state, title in (("broken", "To mend"), ("note", "If you need it")):
        in_state = [finding for finding in findings if finding.state == state]
        if in_state:
            out.print(f"{title}:")
        for finding in in_state:
            out.print(f"  {finding.name}: {finding.remedy}")
    if not any(finding.state == "broken" for finding in findings):
        out.note("Everything that is required is there.")
