"""The paper's claims as tables: verdicts, the comparisons behind them, and counts by schemes and by reading."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from dmafl.experiments.reproduction.design import TASKS
from dmafl.experiments.reproduction.pairs import Pair
from dmafl.experiments.reproduction.readings import Tally
from dmafl.experiments.reproduction.verdicts import (
    DOES_NOT_HOLD,
    FAILS,
    HOLDS,
    MIXED,
    UNDECIDED,
    Claim,
    Comparison,
    firmness,
)
from dmafl.reports.tables.table import Cell, Column, Emphasis, Notes, Rule, Table, cell, plain

VERDICTS = {HOLDS: Emphasis.GOOD, DOES_NOT_HOLD: Emphasis.BAD, MIXED: Emphasis.MIXED}
COUNTS = "Holds / fails / undecided"


def claims_table(claims: Iterable[Claim]) -> Table:
    """One row per claim."""
    rules: list[Rule[Claim]] = [
        (Column("id", "", "left"), lambda claim: cell(claim.id, emphasis=Emphasis.STRONG)),
        plain("claim", "Claim", "text", "left"),
        plain("figure", "Figure"),
        (Column("verdict", "Verdict", "left"), verdict_cell),
        (Column("counts", COUNTS), counts_text),
        (Column("weakest", "Weakest effect (95% interval)"), lambda claim: _effect(weakest(claim))),
        (Column("strongest", "Strongest effect (95% interval)"), lambda claim: _effect(strongest(claim))),
        plain("seeds", "Seeds"),
        plain("censored", "Targets missed"),
        (Column("command", "Recompute"), lambda claim: cell(claim.command, emphasis=Emphasis.CODE)),
        plain("why", "Why", align="left"),
    ]
    return Table.of("The paper's claims", claims, rules)


def reasons(claims: Iterable[Claim]) -> Notes:
    """Every claim that does not hold throughout or was not run, and why."""
    items = tuple((claim.id, claim.why) for claim in claims if claim.why)
    return Notes("Why, where a claim does not hold throughout", items)


def comparisons_table(title: str, claims: Iterable[Claim]) -> Table:
    """One row per comparison of every claim."""
    rules: list[Rule[_Row]] = [
        plain("claim", "Claim", "claim.id"),
        plain("verdict", "Verdict", "claim.verdict"),
        *(
            plain(key, key.capitalize(), f"comparison.{key}")
            for key in ("partition", "task", "first", "second")
        ),
        (Column("measure", "Measure"), lambda row: _measure(row.comparison)),
        (Column("effect", "Effect", interval=True), lambda row: _interval(row.comparison)),
        (Column("shown", "Effect", in_files=False), lambda row: row.comparison.shown),
        plain("seeds", "Seeds", "comparison.effect.n"),
        (Column("claimed_above", "Claimed above"), lambda row: row.comparison.claimed[0]),
        (Column("claimed_below", "Claimed below"), lambda row: row.comparison.claimed[1]),
        plain("state", "State", "comparison.state"),
        plain("judged", "Judged", "comparison.judged"),
        plain("first_censored", "Missed by first", "comparison.first_censored"),
        plain("second_censored", "By second", "comparison.second_censored"),
        plain("command", "Recompute", "claim.command"),
    ]
    rows = [_Row(claim, comparison) for claim in claims for comparison in claim.comparisons]
    return Table.of(title, rows, rules)


class _Row(NamedTuple):
    claim: Claim
    comparison: Comparison


def pairs_table(pairs: Iterable[Pair]) -> Table:
    """One row per claim, two schemes and a quantity; one column per task."""
    rules: list[Rule[Pair]] = [
        plain("claim", "Claim"),
        (Column("better", "Claimed to be better"), lambda pair: _code(pair.better)),
        (Column("other", "Than"), lambda pair: _code(pair.other)),
        plain("quantity", "In"),
        *((Column(task, task), partial(Pair.counts, task=task)) for task in TASKS),
        (Column("all", "All"), Pair.counts),
    ]
    return Table.of("Comparisons that hold, fail and are undecided, by pairs of schemes", pairs, rules)


def readings_table(tallies: Iterable[Tally]) -> Table:
    """One row per claim and way to read energy."""
    rules: list[Rule[Tally]] = [
        plain("claim", "Claim"),
        plain("energy", "Energy up to a target"),
        *(plain(state, state.capitalize()) for state in ("holds", "fails", "undecided")),
    ]
    return Table.of("How comparisons come out, by how energy up to a target is read", tallies, rules)


def weakest(claim: Claim) -> Comparison | None:
    """The comparison that speaks least for a claim."""
    return min(claim.counted, key=firmness, default=None)


def strongest(claim: Claim) -> Comparison | None:
    """The comparison that speaks most for a claim; means that missed targets make too large come last."""

    def support(comparison: Comparison) -> tuple[bool, float]:
        return not comparison.second_censored, firmness(comparison)

    return max(claim.counted, key=support, default=None)


def verdict_cell(claim: Claim) -> Cell:
    """The verdict, in its colour."""
    return cell(claim.verdict, emphasis=VERDICTS.get(claim.verdict, Emphasis.OPEN))


def counts_text(claim: Claim) -> str:
    """How many comparisons hold, fail and are undecided; and how many there should be, if some were not run."""
    counts = "/".join(str(claim.count(state)) for state in (HOLDS, FAILS, UNDECIDED))
    return counts if len(claim.counted) == claim.wanted else f"{counts} of {claim.wanted}"


def _effect(comparison: Comparison | None) -> Cell:
    return cell(None) if comparison is None else cell(comparison.shown, note=comparison.label)


def _interval(comparison: Comparison) -> Cell:
    return cell(comparison.effect.mean, comparison.shown, ends=comparison.ends)


def _measure(comparison: Comparison) -> Cell:
    return cell(
        comparison.measure,
        comparison.quantity if comparison.judged else f"{comparison.quantity} (not judged)",
    )


def _code(name: str) -> Cell:
    return cell(name, emphasis=Emphasis.CODE)
