"""One run of the study, and the key under which its outcome is kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dmafl.base.files import canonical_json, sha256_of
from dmafl.scenario.keys import with_values
from dmafl.scenario.model import Scenario
from dmafl.scenario.preset import preset
from dmafl.schemes.registry import scheme_named

SCHEMA = 1
SIMULATOR = 1
"""Raised when the same run gives other numbers than before."""
PLANNER = 3
"""Raised when the planner gives other plans than before."""


@dataclass(frozen=True)
class StudyRun:
    """A scheme in a world of one seed; or only its plan."""

    preset: str
    partition: str
    scheme: str
    seed: int
    quality: str = "calibrated"
    dissimilarity: str = "gram"
    effort: float = 30.0
    changes: tuple[tuple[str, Any], ...] = ()
    """Dotted keys of the scenario and their values."""
    trained: bool = True
    swept: tuple[str, str, float] | None = None
    """Task, quantity and value, where it is a point of a sweep."""

    @property
    def planned(self) -> bool:
        """Whether the scheme needs a plan."""
        return scheme_named(self.scheme).group == "planned"

    @property
    def name(self) -> str:
        """For a person."""
        parts = [self.preset, self.partition, self.scheme, f"seed {self.seed}"]
        if self.quality != "calibrated" or self.dissimilarity != "gram":
            parts.append(f"{self.quality}+{self.dissimilarity}")
        if self.swept is not None:
            parts.append("{} {} {:g}".format(*self.swept))
        return ", ".join(parts if self.trained else [*parts, "plan only"])

    def scenario(self) -> Scenario:
        """Its world, as a user would describe it."""
        return _without_seed(self.preset, self.changes).model_copy(update={"seed": self.seed})

    def key(self, measured: str) -> str:
        """Says what the outcome depends on, and nothing else; `measured` is the key of the measured constants.

        Settings with their usual values are left out, so that a new setting leaves old keys as they are.
        """
        scenario = self.scenario().model_dump(mode="python", exclude_defaults=True)
        if not self.planned:
            scenario.pop("objective", None)
        content: dict[str, Any] = {
            "schema": SCHEMA,
            "simulator": SIMULATOR,
            "scenario": scenario,
            "scheme": self.scheme,
            "trained": self.trained,
        }
        if self.planned:
            content["plan"] = {
                "planner": PLANNER,
                "quality": self.quality,
                "dissimilarity": self.dissimilarity,
                "time_s": self.effort,  # about the seconds that it takes
                "measured": measured,
            }
        return sha256_of(canonical_json(content))[:24]

    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "preset": self.preset,
            "partition": self.partition,
            "scheme": self.scheme,
            "seed": self.seed,
            "quality": self.quality if self.planned else None,
            "dissimilarity": self.dissimilarity if self.planned else None,
            "changes": dict(self.changes),
            "trained": self.trained,
        }


@lru_cache(maxsize=1024)
def _without_seed(name: str, changes: tuple[tuple[str, Any], ...]) -> Scenario:
    """The world of runs that differ in their seeds alone."""
    return with_values(preset(name), dict(changes), source="study")
