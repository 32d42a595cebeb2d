"""Every claim in a few words, and how its comparisons came out in a sentence."""

from __future__ import annotations

from typing import NamedTuple

from dmafl.experiments.reproduction.verdicts import FAILS, HOLDS, UNDECIDED, Claim


class Words(NamedTuple):
    """How a claim is spoken of."""

    title: str
    """The claim in a few words."""
    holds: str = "as claimed"
    """What was seen in a comparison that holds."""
    fails: str = "the other way"
    """What was seen in one that fails."""


LESS = ("less energy", "more")
WORDS = {
    "C1": Words("dma-fl and dma-fl-nr learn most per aggregation"),
    "C2": Words("dma-fl needs the least energy", *LESS),
    "C3": Words("asynchronous schemes need less energy", *LESS),
    "C4": Words("planned resources save energy", *LESS),
    "C5": Words("a more important task gets more", "more", "less"),
    "C6": Words("a task that drifts computes for a shorter time"),
    "C7": Words("a task that drifts while idle idles less", "shorter", "longer"),
    "C8": Words("fedavg-full spends what the paper prints", "within a factor of 10", "farther off"),
    "C9": Words("varied labels: fedavg-full > dma-fl > fedasync"),
    "C10": Words("two labels a device: dma-fl on top, or level"),
}


def title(claim: Claim) -> str:
    """A claim in a few words."""
    return WORDS[claim.id].title


def outcome(claim: Claim, unit: str = "") -> str:
    """How its comparisons came out: "less energy in 93 of 115, more in none, 22 undecided"; `unit` follows the sum."""
    if not claim.counted:
        return "nothing is judged"
    holds, fails, undecided = (claim.count(state) for state in (HOLDS, FAILS, UNDECIDED))
    words = WORDS[claim.id]
    parts = [
        f"{words.holds} in {_count(holds)} of {len(claim.counted)}{unit}",
        f"{words.fails} in {_count(fails)}",
    ]
    if undecided:
        parts.append(f"{undecided} undecided")
    return ", ".join(parts)


def _count(number: int) -> str:
    return str(number) if number else "none"
