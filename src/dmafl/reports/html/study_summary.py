"""The first screen of a study's page: what came out, in counts and factors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dmafl.experiments.reproduction.claim_words import outcome, title
from dmafl.experiments.reproduction.factors import factor
from dmafl.experiments.reproduction.findings import Findings
from dmafl.experiments.reproduction.savings import Saving
from dmafl.experiments.reproduction.targets import REFERENCE
from dmafl.experiments.reproduction.verdicts import (
    DOES_NOT_HOLD,
    FAILS,
    HOLDS,
    MIXED,
    NOT_RUN,
    UNDECIDED,
    Claim,
)
from dmafl.reports.html.html import Html, element, figure, plot, together
from dmafl.reports.tables.study_summary import DIGITS

FIRST = "C2"
"""The claim on energy that the page opens with."""
BASELINE = "fedasync"
"""The scheme whose ratio is said first."""
STATES = (HOLDS, FAILS, UNDECIDED)


def summary_section(findings: Findings) -> Html:
    """Headline, one line per claim, and every ratio to the highest targets as a dot."""
    return together(
        _headline(findings.claims, findings.savings),
        element(
            "div",
            element("ol", (_line(claim) for claim in findings.claims), class_="outcomes-list"),
            _overview() if findings.ratios else None,
            class_="two",
        ),
        element(
            "p",
            element("i", class_="key holds"),
            "holds ",
            element("i", class_="key fails"),
            "fails ",
            element("i", class_="key undecided"),
            "undecided. A comparison holds or fails if its whole 95% interval says so.",
            class_="small",
        ),
    )


def bar(counts: Sequence[int]) -> Html:
    """Shares of comparisons that hold, fail and are undecided; numbers stand beside it."""
    parts = (
        element("i", class_=state, style=f"flex-grow: {count}")
        for state, count in zip(STATES, counts, strict=True)
        if count
    )
    return element("span", parts, class_="bar-of-counts", aria_hidden="true")


def badge(verdict: str) -> Html:
    """A verdict as a small label."""
    return element("span", verdict, class_=f"badge {verdict.replace(' ', '-')}")


def _headline(claims: Iterable[Claim], savings: Iterable[Saving]) -> Html:
    first = next((claim for claim in claims if claim.id == FIRST and claim.counted), None)
    baseline = next((saving for saving in savings if saving.scheme == BASELINE), None)
    return together(
        element(
            "p",
            f"{REFERENCE} needs ",
            element("strong", outcome(first, " comparisons")),
            ".",
            class_="headline",
        )
        if first
        else None,
        element("p", *_times(baseline), class_="headline") if baseline else None,
        element("p", _verdicts(list(claims))),
    )


def _times(saving: Saving) -> list[object]:
    energy, floor = (
        [factor(value, DIGITS) for value in (one.middle, one.least, one.most)]
        for one in (saving.energy, saving.floor)
    )
    bound = "at least " if saving.energy.bound else ""
    return [
        f"To the same accuracy {saving.scheme} needs {bound}",
        element("strong", f"{energy[0]}× the energy"),
        f" of {REFERENCE} ({energy[1]}× to {energy[2]}×); with every CPU at its lowest clock ",
        element("strong", f"{floor[0]}×"),
        f" ({floor[1]}× to {floor[2]}×).",
    ]


def _verdicts(claims: Sequence[Claim]) -> str:
    """How many claims have each verdict."""
    words = {
        HOLDS: ("holds", "hold"),
        MIXED: ("is mixed", "are mixed"),
        DOES_NOT_HOLD: ("does not hold", "do not hold"),
        UNDECIDED: ("is undecided", "are undecided"),
        NOT_RUN: ("was not run", "were not run"),
    }
    counts = {verdict: sum(claim.verdict == verdict for claim in claims) for verdict in words}
    parts = [f"{count} {words[verdict][count > 1]}" for verdict, count in counts.items() if count]
    return f"Of {len(claims)} claims {', '.join(parts)}."


def _line(claim: Claim) -> Html:
    counts = [claim.count(state) for state in STATES]
    return element(
        "li",
        element(
            "a",
            element("span", element("strong", claim.id), " ", title(claim), class_="title"),
            badge(claim.verdict),
            element("span", bar(counts), outcome(claim), class_="small"),
            href=f"#claim-{claim.id}",
        ),
    )


def _overview() -> Html:
    caption = (
        f"Energy to the highest target, times that of {REFERENCE}: one dot per task and partition, with its 95% "
        "interval. Right of the line the scheme needs more."
    )
    return figure(plot("overview", "Energy of every scheme, times that of dma-fl"), caption)
