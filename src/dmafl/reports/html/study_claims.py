"""The claims on a study's page, one by one: verdict, reason, and the comparisons behind it."""

from __future__ import annotations

from dmafl.experiments.reproduction.claim_words import outcome, title
from dmafl.experiments.reproduction.findings import Findings
from dmafl.experiments.reproduction.verdicts import Claim
from dmafl.reports.html.html import Html, element, folded, together
from dmafl.reports.html.shown_table import shown_table
from dmafl.reports.html.study_summary import STATES, badge, bar
from dmafl.reports.tables.study_claims import claims_table, comparisons_table, pairs_table, readings_table


def claims_section(findings: Findings) -> Html:
    """One part per claim; below, folded, tables over all of them."""
    claims = findings.claims
    table = claims_table(claims).joined("Claim", ("claim", "figure"), "{} (Fig. {})")
    return together(
        (_claim(claim) for claim in claims),
        folded(
            "All claims as a table",
            element(
                "div", shown_table(table.without("figure", "censored", "command", "why")), class_="claims"
            ),
        ),
        folded("Who against whom, task by task", shown_table(pairs_table(findings.pairs))),
        folded("C2 to C4, by how energy is read", shown_table(readings_table(findings.tallies))),
        folded(
            "Recompute",
            element("pre", "\n".join(claim.command for claim in claims), tabindex="0"),
        ),
    )


def _claim(claim: Claim) -> Html:
    return element(
        "article",
        element("h3", f"{claim.id}: {title(claim)} ", badge(claim.verdict)),
        bar([claim.count(state) for state in STATES]),
        element("p", element("strong", _capital(outcome(claim, " comparisons"))), ". ", claim.why),
        element("p", f"The paper (Fig. {claim.figure}): {claim.text}.", class_="small"),
        _comparisons(claim),
        class_="claim",
        id=f"claim-{claim.id}",
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _comparisons(claim: Claim) -> Html:
    table = comparisons_table(f"Comparisons of {claim.id}", [claim]).only(
        "partition",
        "task",
        "first",
        "second",
        "measure",
        "shown",
        "seeds",
        "first_censored",
        "second_censored",
        "state",
    )
    return folded(f"{len(claim.comparisons)} comparisons", shown_table(table))
