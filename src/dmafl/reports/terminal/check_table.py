"""The outcome of checks as a table, with what is broken spelled out below it."""

from __future__ import annotations

from collections.abc import Sequence

from dmafl.reports.numbers import number
from dmafl.reports.terminal.console import console, table
from dmafl.schedule.checks import Check


def print_checks(checks: Sequence[Check], title: str) -> None:
    """Print one row per check, then a full sentence for each that failed."""
    out = console()
    rows = table(f"Checks of {title}", "check", "rule", "holds", "violation", "places")
    rows.columns[1].justify = "left"
    for check in checks:
        size = f"{number(check.violation)} {check.unit}".strip() if not check.ok else ""
        rows.add_row(check.name, check.rule, "yes" if check.ok else "NO", size, str(check.places or ""))
    out.print(rows)
    failed = [check for check in checks if not check.ok]
    for check in failed:
        out.print(str(check), style="red", soft_wrap=True)
    for note in (check.note for check in checks if check.note):
        out.print(note, soft_wrap=True)
    out.print("All checks hold." if not failed else f"{len(failed)} of {len(checks)} checks failed.")
