"""What a study says, as tables: for the terminal, as plain rows for files, and in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp, isfinite
from typing import Any

from rich.table import Table
from rich.text import Text

from dmafl.base.statistics import Interval
from dmafl.experiments.reproduction.ablation import Ablation
from dmafl.experiments.reproduction.targets import LogRatio, Ratio
from dmafl.experiments.reproduction.verdicts import (
    DOES_NOT_HOLD,
    FAILS,
    HOLDS,
    MIXED,
    UNDECIDED,
    Claim,
    Comparison,
    bounded,
    firmness,
)
from dmafl.reports.terminal.console import number, table

COLOURS = {HOLDS: "green", DOES_NOT_HOLD: "red", MIXED: "yellow"}
Row = dict[str, Any]


def claims_table(claims: Sequence[Claim]) -> Table:
    """One row a claim, for the terminal."""
    rows = table("Claims", "", "claim", "verdict", "hold/fail/undecided", "seeds", "missed", "why")
    for place, (justify, ratio) in enumerate(
        (("left", 1), ("left", 12), ("left", 4), ("right", 5), ("right", 2), ("right", 2), ("left", 14))
    ):
        rows.columns[place].justify = justify  # type: ignore[assignment]
        rows.columns[place].ratio = ratio
    for claim in claims:
        colour = COLOURS.get(claim.verdict, "dim")
        rows.add_row(
            claim.id,
            claim.text,
            Text(claim.verdict, style=colour),
            counts(claim),
            claim.seeds,
            str(claim.censored or ""),
            claim.why,
        )
    return rows


def ratios_table(ratios: Sequence[Ratio]) -> Table:
    """Energy to the highest target of each task, relative to `dma-fl`, for the terminal."""
    rows = table(
        "Energy to fedasync's accuracy, relative to dma-fl (95% interval; †: guessing gets there; more in files)",
        "partition",
        "task",
        "scheme",
        "ratio",
        "every CPU at its lowest frequency",
        "missed",
    )
    for place in (1, 2):
        rows.columns[place].justify = "left"
    before = None
    for one in ratios:
        if one.share != 1.0:
            continue
        if before not in (None, (one.partition, one.task)):
            rows.add_section()
        before = (one.partition, one.task)
        shown = (f"{times(side)}{guess_mark(one)}" for side in (one.raw, one.floor))
        rows.add_row(one.partition, one.task, one.scheme, *shown, missed(one.raw))
    return rows


def ablation_table(found: Sequence[Ablation]) -> Table:
    """What each repair buys, for the terminal."""
    rows = table(
        "What plans are made with (differences to calibrated + gram, 95% interval)",
        "task",
        "plans",
        "accuracy at equal energy",
        "difference",
        "final accuracy",
        "difference",
        "energy [J]",
        "devices",
        "samples a job",
    )
    rows.columns[1].justify = "left"
    for one in found:
        rows.add_row(
            one.task,
            f"{one.quality} + {one.dissimilarity}",
            f"{one.accuracy_at_equal_energy.mean:.3f}",
            difference(one.equal_energy_difference),
            f"{one.final_accuracy.mean:.3f}",
            difference(one.final_difference),
            *(number(value.mean) for value in (one.energy_J, one.devices, one.samples)),
        )
    return rows


def counts(claim: Claim) -> str:
    """How many comparisons hold, fail and are undecided; and how many there should be, if some were not run."""
    told = f"{claim.count(HOLDS)}/{claim.count(FAILS)}/{claim.count(UNDECIDED)}"
    return told if len(claim.counted) == claim.wanted else f"{told} of {claim.wanted}"


def difference(one: Interval) -> str:
    """A mean with its half width; none where there is none."""
    if not isfinite(one.mean):
        return ""
    return f"{one.mean:+.3f}" + (f" ± {one.half:.3f}" if isfinite(one.half) else "")


def times(ratio: LogRatio) -> str:
    """A log ratio as a factor with its interval."""
    middle = f"{exp(ratio.effect.mean):.3g}"
    if not isfinite(ratio.effect.half):
        return middle
    low, high = (f"{exp(end):.3g}".replace("inf", "∞") for end in ratio.ends)
    return bounded(middle, ratio.first_censored, ratio.second_censored) + f"[{low}, {high}]"


def guess_mark(ratio: Ratio) -> str:
    """Marks a target that guessing reaches."""
    return " †" if ratio.guessed else ""


def missed(ratio: LogRatio) -> str:
    """In how many seeds the scheme and `dma-fl` did not reach the target."""
    return f"{ratio.first_censored}, {ratio.second_censored} of {ratio.effect.n}"


def claim_rows(claims: Iterable[Claim]) -> list[Row]:
    """One row a comparison, for claims.csv."""
    return [
        {
            "claim": claim.id,
            "verdict": claim.verdict,
            "partition": one.partition,
            "task": one.task,
            "first": one.first,
            "second": one.second,
            "measure": one.measure,
            **effect_columns(one),
            "claimed_above": one.claimed[0],
            "claimed_below": one.claimed[1],
            "state": one.state,
            "judged": one.judged,
            "first_censored": one.first_censored,
            "second_censored": one.second_censored,
            "command": claim.command,
        }
        for claim in claims
        for one in claim.comparisons
    ]


def ratio_rows(ratios: Iterable[Ratio]) -> list[Row]:
    """One row a scheme and target, for ratios.csv; factors, not logs."""
    return [
        {
            "partition": one.partition,
            "task": one.task,
            "target_share": one.share,
            "target_accuracy": one.target,
            "scheme": one.scheme,
            "against": "dma-fl",
            **_factor_columns("ratio", one.raw),
            **_factor_columns("floor_ratio", one.floor),
            **_factor_columns("time_ratio", one.time),
            "guessed": one.guessed,
            "seeds": one.raw.effect.n,
            "scheme_censored": one.raw.first_censored,
            "against_censored": one.raw.second_censored,
        }
        for one in ratios
    ]


def ablation_rows(found: Iterable[Ablation]) -> list[Row]:
    """One row a task and variant, for ablation.csv."""
    measures = (
        "equal_energy_J",
        "accuracy_at_equal_energy",
        "final_accuracy",
        "energy_J",
        "equal_energy_difference",
        "final_difference",
        "log_energy_ratio",
        "devices",
        "steps",
        "samples",
    )
    return [
        {"task": one.task, "quality": one.quality, "dissimilarity": one.dissimilarity}
        | {key: value for name in measures for key, value in _ends(name, getattr(one, name)).items()}
        | {"seeds": one.final_accuracy.n}
        for one in found
    ]


def effect_columns(one: Comparison) -> Row:
    """An effect as columns: mean, ends and number of seeds."""
    low, high = one.ends
    return {"effect": one.effect.mean, "effect_low": low, "effect_high": high, "seeds": one.effect.n}


def _ends(name: str, one: Interval) -> Row:
    return {name: one.mean, f"{name}_low": one.low, f"{name}_high": one.high}


def _factor_columns(name: str, one: LogRatio) -> Row:
    low, high = one.ends
    return {name: exp(one.effect.mean), f"{name}_low": exp(low), f"{name}_high": exp(high)}


def weakest(claim: Claim) -> Comparison | None:
    """The comparison that speaks least for a claim."""
    return min(claim.counted, key=firmness, default=None)


def strongest(claim: Claim) -> Comparison | None:
    """The comparison that speaks most for a claim; means that missed targets make too large come last."""
    return max(claim.counted, key=lambda one: (not one.second_censored, firmness(one)), default=None)
