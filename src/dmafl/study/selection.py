"""The runs that claims need, so that one claim can be recomputed without the others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dmafl.errors import bad_input
from dmafl.study.design import BASELINES, GROUPS, PARTITIONS, PLANNED, Study
from dmafl.study.unit import Unit

COMPARED = ("tuning", "baselines", "planned")


@dataclass(frozen=True)
class Need:
    """Groups of runs, and of these the partitions and schemes, that a claim is judged by."""

    groups: tuple[str, ...] = COMPARED
    partitions: tuple[str, ...] = PARTITIONS
    schemes: tuple[str, ...] = (*BASELINES, *PLANNED)

    def covers(self, group: str, unit: Unit) -> bool:
        """Whether a unit of a group belongs to it. What targets are fixed on is needed whatever is compared."""
        return (
            group in self.groups
            and unit.partition in self.partitions
            and (group == "tuning" or unit.scheme in self.schemes)
        )


NEEDS = {
    "C1": Need(("baselines", "planned"), ("dirichlet",)),
    "C2": Need(),
    "C3": Need(),
    "C4": Need(partitions=("dirichlet", "k_labels"), schemes=("fedasync", *PLANNED)),
    "C5": Need(("planned", "importance"), ("dirichlet",), ("dma-fl",)),
    "C6": Need(("active drift",)),
    "C7": Need(("idle drift",)),
    "C8": Need(("baselines",), ("varied",), ("fedavg-full",)),
    "C9": Need(("baselines", "planned"), ("varied",), ("fedasync", "fedavg-full", "dma-fl")),
    "C10": Need(("baselines", "planned"), ("k_labels",)),
}
"""By claim."""


def named(only: str) -> list[str]:
    """Claims and groups in a list with commas, spelt as we do."""
    found = []
    for part in (part.strip() for part in only.split(",")):
        claim, group = part.upper(), part.lower()
        if claim not in NEEDS and group not in GROUPS:
            raise bad_input(
                "only",
                f"must be claims (C1 to C10) or groups ({', '.join(GROUPS)})",
                part,
                "Separate them with commas.",
            )
        found.append(claim if claim in NEEDS else group)
    return found


def needed(study: Study, names: Iterable[str] | None = None) -> list[Unit]:
    """Units of the study that the named claims and groups need, in the study's order; all, if none are named.

    A name for which the study has no runs is refused.
    """
    own = study.all_units()
    if names is None:
        return [unit for units in own.values() for unit in units]
    taken = set()
    for name in names:
        need = NEEDS.get(name)
        found = {
            (group, unit)
            for group, units in own.items()
            for unit in units
            if (need.covers(group, unit) if need is not None else group == name)
        }
        lacking = [
            group for group in (need.groups if need is not None else (name,)) if group not in study.groups
        ]
        if lacking or not found:
            rule = "must be what the study has runs for"
            has = f"It has {', '.join(study.partitions)} and {', '.join(study.groups)}."
            raise bad_input("only", rule, name, f"{has} Leave --quick out.")
        taken |= found
    return [unit for group, units in own.items() for unit in units if (group, unit) in taken]
