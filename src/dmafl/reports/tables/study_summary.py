"""What came out of a study, in short: how every claim came out, and what every scheme needs beside dma-fl."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dmafl.experiments.reproduction.claim_words import outcome, title
from dmafl.experiments.reproduction.factors import factor
from dmafl.experiments.reproduction.savings import Saving, Spread
from dmafl.experiments.reproduction.targets import REFERENCE
from dmafl.experiments.reproduction.verdicts import Claim
from dmafl.reports.tables.study_claims import COUNTS, counts_text, verdict_cell
from dmafl.reports.tables.table import Cell, Column, Emphasis, Notes, Rule, Span, Table, cell, plain

DIGITS = 2
"""Of factors that are read at a glance."""
LOWEST = "the same, every CPU at its lowest clock"


def outcomes_table(claims: Iterable[Claim]) -> Table:
    """One row per claim, in few words."""
    rules: list[Rule[Claim]] = [
        (Column("id", "Claim", "left"), lambda claim: cell(claim.id, emphasis=Emphasis.STRONG)),
        (Column("title", "In short", "left"), title),
        (Column("verdict", "Verdict", "left"), verdict_cell),
        (Column("counts", COUNTS), counts_text),
        (Column("outcome", "Comparisons", "left"), outcome),
    ]
    return Table.of("What came out", claims, rules)


def outcomes_beside_table(claims: Mapping[str, Sequence[Claim]]) -> Table:
    """One row per claim; for each preset its verdict, and how many comparisons hold, fail and are undecided."""
    presets = list(claims)
    columns = (
        Column("claim", "Claim", "left"),
        *(Column(name, f"`{name}`", "left") for name in presets),
    )
    rows = tuple(
        (_named(of_one[0]), *(_verdict_and_counts(claim) for claim in of_one))
        for of_one in zip(*claims.values(), strict=True)
    )
    return Table("What came out", columns, rows)


def why_notes(claims: Iterable[Claim]) -> Notes:
    """The same as `why_table`, as a list."""
    return Notes("", tuple((claim.id, claim.why) for claim in claims if claim.why))


def why_table(claims: Iterable[Claim]) -> Table:
    """One row per claim that does not hold throughout or was not run."""
    rules: list[Rule[Claim]] = [
        (Column("id", "Claim", "left"), lambda claim: cell(claim.id, emphasis=Emphasis.STRONG)),
        plain("why", "Why", align="left"),
    ]
    return Table.of("Why a claim does not hold throughout", (claim for claim in claims if claim.why), rules)


def savings_table(savings: Iterable[Saving]) -> Table:
    """One row per scheme: the middle and, in brackets, the least and largest of its ratios to every judged target."""
    rules: list[Rule[Saving]] = [
        plain("scheme", "Scheme", align="left"),
        (Column("less", f"{REFERENCE} needs less in"), lambda one: f"{one.less} of {one.comparisons}"),
        (Column("more", "more in"), lambda one: one.more),
        (Column("energy", f"Energy, times that of {REFERENCE}"), lambda one: _spread(one.energy)),
        (Column("floor", LOWEST), lambda one: _spread(one.floor)),
        (Column("time", f"Time, times that of {REFERENCE}"), lambda one: _spread(one.time)),
    ]
    return Table.of(f"What every scheme needs to a target, beside {REFERENCE}", savings, rules)


def _named(claim: Claim) -> Cell:
    return Cell(claim.id, (Span(claim.id, Emphasis.STRONG), Span(f" {title(claim)}")))


def _verdict_and_counts(claim: Claim) -> Cell:
    counts = f", {counts_text(claim)}" if claim.counted else ""
    return Cell(claim.verdict, (*verdict_cell(claim).spans, Span(counts)))


def _spread(spread: Spread) -> Cell:
    middle, least, most = (factor(one, DIGITS) for one in (spread.middle, spread.least, spread.most))
    return cell(f"{'≥ ' if spread.bound else ''}{middle} ({least}–{most})")
