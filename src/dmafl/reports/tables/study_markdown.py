"""What a study says, as Markdown tables for a page of the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from dmafl.experiments.reproduction.ablation import Ablation
from dmafl.experiments.reproduction.design import RATES, TASKS
from dmafl.experiments.reproduction.pairs import Pair
from dmafl.experiments.reproduction.readings import Tally
from dmafl.experiments.reproduction.study_outcomes import StudyOutcomes
from dmafl.experiments.reproduction.targets import Ratio
from dmafl.experiments.reproduction.verdicts import Claim, Comparison
from dmafl.reports.terminal.console import number
from dmafl.reports.terminal.study_tables import (
    counts,
    difference,
    guess_mark,
    missed,
    strongest,
    times,
    weakest,
)

NOT_RUN = "Not run yet.\n"


def claims_markdown(claims: Sequence[Claim]) -> str:
    """One row a claim."""
    head = (
        "Claim",
        "Verdict",
        "Holds / fails / undecided",
        "Weakest effect (95% interval)",
        "Strongest effect (95% interval)",
        "Seeds",
        "Targets missed",
        "Recompute",
    )
    rows = [
        [
            f"**{claim.id}** (Fig. {claim.figure}) {claim.text}",
            f"**{claim.verdict}**",
            counts(claim),
            _effect(weakest(claim)),
            _effect(strongest(claim)),
            claim.seeds,
            str(claim.censored),
            f"`{claim.command}`",
        ]
        for claim in claims
    ]
    why = [f"- **{claim.id}**: {claim.why}" for claim in claims if claim.why]
    made = markdown_table(head, rows)
    if why:
        made += "\n".join(["\nWhy, where a claim does not hold throughout:\n", *why]) + "\n"
    return made


def pairs_markdown(found: Sequence[Pair]) -> str:
    """One row a claim, two schemes and a quantity; a column a task."""
    rows = [
        [one.claim, f"`{one.better}` against `{one.other}`", one.quantity]
        + [one.counts(task) for task in (*TASKS, None)]
        for one in found
    ]
    head = ("Claim", "Claimed to be better", "In", *TASKS, "All")
    return markdown_table(head, rows) if rows else NOT_RUN


def readings_markdown(found: Sequence[Tally]) -> str:
    """One row a claim and a way to read energy."""
    head = ("Claim", "Energy up to a target", "Holds / fails / undecided")
    rows = [
        [one.claim, one.energy, f"{one.holds}/{one.fails}/{one.undecided}"]
        for one in found
        if one.comparisons
    ]
    return markdown_table(head, rows) if rows else NOT_RUN


def rates_markdown(gathered: StudyOutcomes) -> str:
    """One row a task and learning rate that was run in all partitions: how `fedasync` ended on the tuning seed."""
    partitions = gathered.study.partitions
    own = gathered.study.study_run(partitions[0], "fedasync", gathered.study.tuning_seed).scenario().tasks
    rows = []
    for task, rates in RATES.items():
        for place, rate in enumerate(rates):
            ended = [
                float(one.tasks[task].curve["accuracy"][-1])
                for partition in partitions
                if (one := gathered.tried(partition, place)) is not None
            ]
            if len(ended) == len(partitions):
                chosen = "**" if rate == own[task].learning_rate else ""
                rows.append(
                    [task, f"{chosen}{rate:g}{chosen}", *(f"{one:.3f}" for one in (*ended, fmean(ended)))]
                )
    return markdown_table(("Task", "Learning rate", *partitions, "Mean"), rows) if rows else NOT_RUN


def ratios_markdown(ratios: Sequence[Ratio]) -> str:
    """One row a scheme, task and partition; a column a target, raw and with every CPU at its lowest frequency."""
    shares = sorted({one.share for one in ratios})
    grouped: dict[tuple[str, str, str], dict[float, Ratio]] = {}
    for one in ratios:
        grouped.setdefault((one.partition, one.task, one.scheme), {})[one.share] = one
    head = ["Partition", "Task", "Scheme"]
    for share in shares:
        head += [f"{share:.0%}", f"{share:.0%}, lowest frequency", "missed"]
    head.append(f"time to {max(shares):.0%}" if shares else "")
    rows = []
    for key, found in grouped.items():
        row = list(key)
        for share in shares:
            row += _cells(found[share]) if share in found else [""] * 3
        last = found[max(found)]
        rows.append([*row, times(last.time) + guess_mark(last)])
    return markdown_table(head, rows) if rows else NOT_RUN


def _cells(one: Ratio) -> list[str]:
    return [*(times(side) + guess_mark(one) for side in (one.raw, one.floor)), missed(one.raw)]


def ablation_markdown(found: Sequence[Ablation]) -> str:
    """One row a task and variant."""
    head = (
        "Task",
        "Plans made with",
        "Accuracy at equal energy",
        "Difference",
        "Final accuracy",
        "Difference",
        "Energy [J]",
        "Devices",
        "Steps a job",
        "Samples a job",
        "Seeds",
    )
    rows = [
        [
            one.task,
            f"{one.quality} + {one.dissimilarity}",
            f"{one.accuracy_at_equal_energy.mean:.3f}",
            difference(one.equal_energy_difference),
            f"{one.final_accuracy.mean:.3f}",
            difference(one.final_difference),
            *(number(value.mean) for value in (one.energy_J, one.devices, one.steps, one.samples)),
            str(one.final_accuracy.n),
        ]
        for one in found
    ]
    return markdown_table(head, rows) if rows else NOT_RUN


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _effect(one: Comparison | None) -> str:
    if one is None:
        return ""
    return f"{one.shown} ({one.label})"
