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
    for one in findings:
        if group and one.group != group:
            rows.add_section()
        rows.add_row(one.group if one.group != group else "", one.name, one.found, MARKS[one.state])
        group = one.group
    out.print(rows)
    for state, title in (("broken", "To mend"), ("note", "If you need it")):
        told = [one for one in findings if one.state == state]
        if told:
            out.print(f"{title}:")
        for one in told:
            out.print(f"  {one.name}: {one.remedy}")
    if not any(one.state == "broken" for one in findings):
        out.print("Everything that is required is there.")
