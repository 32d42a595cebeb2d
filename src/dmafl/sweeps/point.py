"""A point of a sweep: one combination of settings with one seed, and the name that follows from its content."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from dmafl.errors import ShownAsIs, bad_input
from dmafl.files import canonical_json, sha256_of
from dmafl.scenario.keys import matching, with_values
from dmafl.scenario.model import Scenario
from dmafl.schemes.registry import PLANNING
from dmafl.version import __version__
from dmafl.world.world import World

NAME_CHARS = 16
MOST_POINTS = 100_000
Settings = Mapping[str, Any]
"""Dotted key -> value."""


@dataclass(frozen=True)
class How:
    """What is done at every point."""

    scheme: str = "dma-fl"
    plan_only: bool = False
    effort: float = 30.0
    quality: str = "calibrated"
    dissimilarity: str = "gram"

    @property
    def plans(self) -> bool:
        """Whether a plan is made."""
        return self.scheme in PLANNING

    def content(self, measured: str | None) -> dict[str, Any]:
        """What of it decides the outcome; `measured` is the key of the constants that plans are made with."""
        if not self.plans:
            return {"scheme": self.scheme}
        return {
            "scheme": self.scheme,
            "plan_only": self.plan_only,
            "plan_time_s": self.effort,  # about the seconds that it takes
            "quality": self.quality,
            "dissimilarity": self.dissimilarity,
            "measured": measured,
        }


@dataclass(frozen=True)
class Point:
    """One combination of settings with one seed."""

    settings: Settings
    scenario: Scenario
    """With these settings, and the seed that was measured."""
    seed: int

    @property
    def world(self) -> World:
        """The world of its seed."""
        return World.resolve(
            self.scenario.model_copy(update={"seed": self.seed}).in_folder(self.scenario.folder)
        )

    def name(self, how: How, data: Mapping[str, str], measured: str | None) -> str:
        """Checksum of all that decides what comes out; `data` maps data sets to their checksums."""
        own = {name: data[task.dataset] for name, task in self.scenario.tasks.items()}
        content = [__version__, self.world.sha256, how.content(measured), own]
        return sha256_of(canonical_json(content))[:NAME_CHARS]

    def folder(self, sweep: Path, name: str) -> Path:
        """Where its run or plan is."""
        return sweep / "points" / name


def grid(
    scenario: Scenario, values: Mapping[str, Sequence[Any]], source: str = "--set"
) -> list[tuple[Settings, Scenario]]:
    """Every combination of `values` with the scenario that it makes; the last key varies fastest."""
    if not values:
        raise bad_input(source, "must name at least one key", ShownAsIs("nothing"), "Add KEY=V1,V2,...")
    total = 1
    taken: dict[str, str] = {}
    for key, choices in values.items():
        for one in matching(scenario, key):
            if one in taken:
                raise bad_input(
                    key,
                    "must set what no other key sets",
                    ShownAsIs(f"{one}, also in {taken[one]}"),
                    "Leave one out.",
                )
            taken[one] = key
        if not choices:
            raise bad_input(key, "must have at least one value", ShownAsIs("none"), "Write KEY=V1,V2,...")
        total *= len(choices)
    if total > MOST_POINTS:
        raise bad_input(
            source, f"must make at most {MOST_POINTS:,} combinations", total, "Leave some values out."
        )
    combinations = [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]
    return [(settings, with_values(scenario, settings, source)) for settings in combinations]


def shown(value: Any) -> str:
    """A setting's value as tables and pictures show it."""
    if value is None:
        return "unset"
    if isinstance(value, bool | dict | list):
        return json.dumps(value)
    return f"{value:g}" if isinstance(value, float) else str(value)
