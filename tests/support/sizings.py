"""Small sizings with the constants that come with the package: plans in a moment, seeds in a second."""

from __future__ import annotations

from typing import Any

import dmafl
from dmafl.base.files import parse_json
from dmafl.calibration.measured import Measured
from dmafl.calibration.shipped import NAME, shipped_file
from dmafl.scenario.model import Scenario
from dmafl.scenario.toml import from_plain

EFFORT = 0.3


def shipped() -> Measured:
    """The constants of `demo`."""
    return Measured.from_plain(parse_json(shipped_file().read_bytes(), NAME, "measured constants", ""), NAME)


def small(tasks: tuple[str, ...] = ("mnist",), **fleet: Any) -> Scenario:
    """The demo with some of its tasks, for a few aggregations."""
    return from_plain({"preset": "demo", "fleet": fleet, "tasks": {task: {"slots": 12} for task in tasks}})


def sized(scenario: Scenario, **given: Any) -> dmafl.Sizing:
    """A sizing with little effort and no front."""
    settings = {"measured": shipped(), "effort": EFFORT, "front": 0}
    return dmafl.size(scenario, **(settings | given))
