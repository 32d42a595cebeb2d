"""A point of a sweep: one combination of settings with one seed, and the name that follows from its content."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.files import canonical_json, sha256_of
from dmafl.base.version import __version__
from dmafl.scenario.keys import matching, with_values
from dmafl.scenario.model import Scenario
from dmafl.schemes.registry import scheme_named
from dmafl.training.components import NOTHING, Components
from dmafl.world.world import World

NAME_CHARS = 16
MOST_POINTS = 100_000
Settings = Mapping[str, Any]
"""Dotted key -> value."""


@dataclass(frozen=True)
class PointWork:
    """What is done at every point: a scheme, run or only planned, and what plans are made with."""

    scheme: str = "dma-fl"
    plan_only: bool = False
    effort: float = 30.0
    quality: str = "calibrated"
    dissimilarity: str = "gram"

    @property
    def plans(self) -> bool:
        """Whether a plan is made."""
        return scheme_named(self.scheme).group == "planned"

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
    components: Components = NOTHING

    @property
    def world(self) -> World:
        """The world of its seed."""
        return self.components.world(
            self.scenario.model_copy(update={"seed": self.seed}).in_folder(self.scenario.folder)
        )

    def key(self, work: PointWork, data: Mapping[str, str], measured: str | None) -> str:
        """Checksum of all that decides what comes out; `data` maps tasks to checksums of their data."""
        world = self.world
        content = [__version__, world.sha256, work.content(measured), data]
        content += self.components.marks(world)
        return sha256_of(canonical_json(content))[:NAME_CHARS]

    @property
    def label(self) -> str:
        """For a person."""
        return label(self.settings, self.seed)


def label(settings: Settings, seed: int) -> str:
    """Settings and seed, for a person."""
    return ", ".join([*(f"{key}={shown(value)}" for key, value in settings.items()), f"seed {seed}"])


def grid(
    scenario: Scenario, values: Mapping[str, Sequence[Any]], source: str = "--set"
) -> list[tuple[Settings, Scenario]]:
    """Every combination of `values` with the scenario that it makes; the last key varies fastest."""
    if not values:
        raise bad_input(source, "must name at least one key", ShownAsIs("nothing"), "Add KEY=V1,V2,...")
    total = 1
    set_by: dict[str, str] = {}
    for key, choices in values.items():
        for field in matching(scenario, key):
            if field in set_by:
                raise bad_input(
                    key,
                    "must set what no other key sets",
                    ShownAsIs(f"{field}, also in {set_by[field]}"),
                    "Leave one out.",
                )
            set_by[field] = key
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
