"""The runs that claims need, so that one claim can be recomputed without the others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dmafl.base.errors import bad_input
from dmafl.experiments.reproduction.design import BASELINES, GROUPS, PARTITIONS, PLANNED, Study
from dmafl.experiments.reproduction.study_run import StudyRun

COMPARED = ("tuning", "baselines", "planned")


@dataclass(frozen=True)
class Need:
    """Groups of runs, and of these the partitions and schemes, that a claim is judged by."""

    groups: tuple[str, ...] = COMPARED
    partitions: tuple[str, ...] = PARTITIONS
    schemes: tuple[str, ...] = (*BASELINES, *PLANNED)

    def covers(self, group: str, study_run: StudyRun) -> bool:
        """Whether a run of a group belongs to it. What targets are fixed on is needed whatever is compared."""
        return (
            group in self.groups
            and study_run.partition in self.partitions
            and (group == "tuning" or study_run.scheme in self.schemes)
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
    """Claims and groups in a list with commas, in their standard spelling."""
    names = []
    for part in (part.strip() for part in only.split(",")):
        claim, group = part.upper(), part.lower()
        if claim not in NEEDS and group not in GROUPS:
            raise bad_input(
                "only",
                f"must be claims (C1 to C10) or groups ({', '.join(GROUPS)})",
                part,
                "Separate them with commas.",
            )
        names.append(claim if claim in NEEDS else group)
    return names


def needed(study: Study, names: Iterable[str] | None = None) -> list[StudyRun]:
    """Runs of the study that the named claims and groups need, in the study's order; all, if none are named.

    A name for which the study has no runs is refused.
    """
    by_group = study.all_study_runs()
    if names is None:
        return [study_run for study_runs in by_group.values() for study_run in study_runs]
    chosen = set()
    for name in names:
        need = NEEDS.get(name)
        covered = {
            (group, study_run)
            for group, study_runs in by_group.items()
            for study_run in study_runs
            if (need.covers(group, study_run) if need is not None else group == name)
        }
        lacking = [
            group for group in (need.groups if need is not None else (name,)) if group not in study.groups
        ]
        if lacking or not covered:
            rule = "must be what the study has runs for"
            has = f"It has {', '.join(study.partitions)} and {', '.join(study.groups)}."
            raise bad_input("only", rule, name, f"{has} Leave --quick out.")
        chosen |= covered
    return [
        study_run
        for group, study_runs in by_group.items()
        for study_run in study_runs
        if (group, study_run) in chosen
    ]
