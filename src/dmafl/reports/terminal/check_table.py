"""The outcome of checks as a table, with what is broken spelled out below it."""

from __future__ import annotations

from collections.abc import Sequence

from dmafl.reports.numbers import number
from dmafl.reports.tables.table import Table, cell
from dmafl.reports.terminal.console import Terminal
from dmafl.schedule.checks import Check


def print_checks(out: Terminal, checks: Sequence[Check], title: str) -> None:
    """Print one row per check, then a full sentence for each that failed."""
    out.print(checks_table(checks, title))
    failed = [check for check in checks if not check.ok]
    for check in failed:
        out.sentence(str(check), style="red")
    for note in (check.note for check in checks if check.note):
        out.sentence(note)
    out.note("All checks hold." if not failed else f"{len(failed)} of {len(checks)} checks failed.")


def checks_table(checks: Sequence[Check], title: str) -> Table:
    """One row per check."""
    columns = {
        "check": "check",
        "rule": "rule",
        "holds": "holds",
        "violation": "violation",
        "unit": "unit",
        "places": "places",
    }
    rows = (
        (
            check.name,
            check.rule,
            cell(check.ok, "yes" if check.ok else "NO"),
            cell(
                None if check.ok else float(check.violation),
                "" if check.ok else f"{number(check.violation)} {check.unit}".strip(),
            ),
            check.unit,
            cell(check.places, str(check.places or "")),
        )
        for check in checks
    )
    return Table.made("checks", f"Checks of {title}", columns, rows, left=["rule"], only_in_files=["unit"])
