"""How a claim comes out for every two schemes that it compares, task by task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dmafl.experiments.reproduction.design import BASELINES, PLANNED
from dmafl.experiments.reproduction.verdicts import FAILS, HOLDS, UNDECIDED, Claim, Comparison

SCHEMES = frozenset(BASELINES + PLANNED)


@dataclass(frozen=True)
class Pair:
    """Comparisons of a claim between two schemes in one quantity, by task."""

    claim: str
    better: str
    """The scheme that is claimed to be the better one."""
    other: str
    quantity: str
    states: Mapping[str, tuple[str, ...]]

    def counts(self, task: str | None = None) -> str:
        """How many hold, fail and are undecided: of a task, or of all; nothing where there are none."""
        chosen = [state for name, states in self.states.items() if task in (None, name) for state in states]
        return "/".join(str(chosen.count(state)) for state in (HOLDS, FAILS, UNDECIDED)) if chosen else ""


def pairs(claims: Sequence[Claim]) -> list[Pair]:
    """Of every claim that compares schemes, those that were run and are judged."""
    by_pair: dict[tuple[str, str, str, str], dict[str, tuple[str, ...]]] = {}
    for claim in claims:
        for comparison in claim.counted:
            if {comparison.first, comparison.second} <= SCHEMES:
                states = by_pair.setdefault((claim.id, *_sides(comparison)), {})
                states[comparison.task] = (*states.get(comparison.task, ()), comparison.state)
    return [Pair(*pair, states) for pair, states in by_pair.items()]


def _sides(comparison: Comparison) -> tuple[str, str, str]:
    """The scheme that is claimed to be better, the other one, and in what: less energy, a smaller distance, or more."""
    if comparison.measure.startswith("log energy"):
        return comparison.second, comparison.first, "energy"
    if comparison.measure.startswith("distance"):
        return comparison.second, comparison.first, "distance to dma-fl in accuracy"
    assert comparison.measure.endswith(("accuracy", "accuracy averaged over aggregations")), (
        comparison.measure
    )
    least = comparison.claimed[0]
    return (
        comparison.first,
        comparison.second,
        "accuracy" if least == 0 else f"accuracy, at most {-least:g} below",
    )
