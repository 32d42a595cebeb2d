"""The claims on a study's page: verdicts, reasons, how to recompute them, and the comparisons behind them."""

from __future__ import annotations

from dmafl.experiments.reproduction.findings import Findings
from dmafl.experiments.reproduction.verdicts import Claim
from dmafl.reports.html.html import Html, element, folded, together
from dmafl.reports.html.shown_table import shown_table
from dmafl.reports.tables.study_claims import (
    claims_table,
    comparisons_table,
    pairs_table,
    readings_table,
    reasons,
)


def claims_section(findings: Findings) -> Html:
    """All of it; what is behind the verdicts is folded."""
    claims = findings.claims
    table = claims_table(claims).joined("Claim", ("claim", "figure"), "{} (Fig. {})")
    why = reasons(claims)
    return together(
        element("div", shown_table(table.without("figure", "censored", "command", "why")), class_="claims"),
        element("h3", why.title),
        element("dl", ([element("dt", name), element("dd", text)] for name, text in why.items)),
        element("h3", "Recompute"),
        element("pre", "\n".join(claim.command for claim in claims)),
        (_comparisons(claim) for claim in claims),
        folded("Who against whom, task by task", shown_table(pairs_table(findings.pairs))),
        folded("C2 to C4, by how energy is read", shown_table(readings_table(findings.tallies))),
    )


def _comparisons(claim: Claim) -> Html:
    table = comparisons_table(f"Comparisons of {claim.id}", [claim]).only(
        "partition",
        "task",
        "first",
        "second",
        "measure",
        "effect",
        "seeds",
        "first_censored",
        "second_censored",
        "state",
    )
    return folded(f"{claim.id}: {len(claim.comparisons)} comparisons", shown_table(table.spread("effect")))
