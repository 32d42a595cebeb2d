"""What the outcomes of a study were made with, and what a reader of its tables should know of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dmafl.experiments.reproduction.outcome import Outcome

Versions = Mapping[str, Sequence[str]]
"""Name -> all versions or checksums of it behind the outcomes, each once."""


@dataclass(frozen=True)
class Provenance:
    """Software and data behind outcomes, and runs that did not go as planned."""

    versions: Versions
    data: Versions
    """Checksums of data sets."""
    ended_short: Sequence[str]
    diverged_updates: Sequence[str]

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> Provenance:
        """Of all `outcomes` together."""
        return cls(
            _all(outcome.about.get("versions", {}) for outcome in outcomes),
            _all(outcome.about.get("data", {}) for outcome in outcomes),
            ended_short(outcomes),
            with_diverged_updates(outcomes),
        )

    @property
    def warnings(self) -> list[str]:
        """One sentence for everything that is not as it should be."""
        mixed = [name for name, checksums in self.data.items() if len(checksums) > 1]
        return [
            *(f"ended before its last aggregation: {name}" for name in self.ended_short),
            *(f"local models that were not finite changed nothing: {name}" for name in self.diverged_updates),
            *(f"made with different data sets {name}: see manifest.json" for name in mixed),
        ]


def ended_short(outcomes: Iterable[Outcome]) -> list[str]:
    """Trained runs and tasks with fewer aggregations than wanted: a battery or a window ended them."""
    return [
        f"{outcome.study_run.name}: {name}"
        for outcome in outcomes
        if outcome.study_run.trained
        for name, task in outcome.study_run.scenario().tasks.items()
        if outcome.tasks[name].curve["aggregation"][-1] < task.slots
    ]


def with_diverged_updates(outcomes: Iterable[Outcome]) -> list[str]:
    """Trained runs and tasks of which local models were not finite, with how many of how many."""
    return [
        f"{outcome.study_run.name}: {task.diverged:,} of {task.totals['jobs']:,.0f} of {name}"
        for outcome in outcomes
        for name, task in outcome.tasks.items()
        if task.diverged
    ]


def _all(by_outcome: Iterable[Mapping[str, str]]) -> dict[str, list[str]]:
    versions: dict[str, set[str]] = {}
    for of_outcome in by_outcome:
        for name, version in of_outcome.items():
            versions.setdefault(name, set()).add(version)
    return {name: sorted(versions[name]) for name in sorted(versions)}
