"""A scenario that is asked for other goals than its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmafl.scenario.model import Scenario
from dmafl.scenario.toml import from_plain


def asked_for(scenario: Scenario, given: Mapping[str, Any], source: str = "goals") -> Scenario:
    """The scenario with these goals beside or in place of its own; None leaves one as it is."""
    goals = {name: value for name, value in given.items() if value is not None}
    if not goals:
        return scenario
    plain = scenario.as_asked.plain()
    return from_plain(plain | {"goals": plain["goals"] | goals}, source).in_folder(scenario.folder)
