"""How a claim comes out for every two schemes that it compares, task by task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dmafl.study.design import BASELINES, PLANNED
from dmafl.study.verdicts import FAILS, HOLDS, UNDECIDED, Claim, Comparison

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
        found = [state for name, states in self.states.items() if task in (None, name) for state in states]
        return "/".join(str(found.count(state)) for state in (HOLDS, FAILS, UNDECIDED)) if found else ""


def pairs(claims: Sequence[Claim]) -> list[Pair]:
    """Of every claim that compares schemes, those that were run and are judged."""
    found: dict[tuple[str, str, str, str], dict[str, tuple[str, ...]]] = {}
    for claim in claims:
        for one in claim.counted:
            if {one.first, one.second} <= SCHEMES:
                states = found.setdefault((claim.id, *_sides(one)), {})
                states[one.task] = (*states.get(one.task, ()), one.state)
    return [Pair(*key, states) for key, states in found.items()]


def _sides(one: Comparison) -> tuple[str, str, str]:
    """The scheme that is claimed to be better, the other one, and in what: less energy, a smaller distance, or more."""
    if one.measure.startswith("log energy"):
        return one.second, one.first, "energy"
    if one.measure.startswith("distance"):
        return one.second, one.first, "distance to dma-fl in accuracy"
    assert one.measure.endswith(("accuracy", "accuracy averaged over aggregations")), one.measure
    least = one.claimed[0]
    return one.first, one.second, "accuracy" if least == 0 else f"accuracy, at most {-least:g} below"
