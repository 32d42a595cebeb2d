"""What a study says, as Markdown tables for a page of the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dmafl.reports.console import number
from dmafl.reports.study_tables import counts, difference, missed, strongest, times, weakest
from dmafl.study.ablation import Ablation
from dmafl.study.targets import Ratio
from dmafl.study.verdicts import Claim, Comparison


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


def ratios_markdown(ratios: Sequence[Ratio]) -> str:
    """One row a scheme, task and partition; a column a target, raw and with every CPU at its lowest frequency."""
    shares = sorted({one.share for one in ratios})
    grouped: dict[tuple[str, str, str], dict[float, Ratio]] = {}
    for one in ratios:
        grouped.setdefault((one.partition, one.task, one.scheme), {})[one.share] = one
    head = ["Partition", "Task", "Scheme"]
    for share in shares:
        head += [f"{share:.0%}", f"{share:.0%}, lowest frequency", "missed"]
    rows = []
    for key, found in grouped.items():
        row = list(key)
        for share in shares:
            row += (
                [times(found[share].raw), times(found[share].floor), missed(found[share].raw)]
                if share in found
                else [""] * 3
            )
        rows.append(row)
    return markdown_table(head, rows)


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
            number(one.energy_J.mean),
            str(one.final_accuracy.n),
        ]
        for one in found
    ]
    return markdown_table(head, rows)


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _effect(one: Comparison | None) -> str:
    if one is None:
        return ""
    return f"{difference(one.effect)} ({one.task}, {one.partition}: {one.first} against {one.second}, {one.measure})"
