"""What measuring a scenario gives: constants of every task, with how they were found; saved and cached as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dmafl.data.folders import cache_folder
from dmafl.errors import ShownAsIs, bad_input
from dmafl.files import canonical_json, read_json, sha256_of, write_json
from dmafl.measure.estimates import Estimate, estimate_task
from dmafl.scenario.model import Scenario
from dmafl.simulation.laboratory import Laboratory
from dmafl.theory.constants import Constants
from dmafl.version import __version__

SCHEMA = 1
SET_BY_SCENARIO = ("gradient_bound", "regularised_gradient_bound", "weak_convexity")
"""Constants that the scenario's section `theory` may set; the measured value is kept beside them."""


@dataclass(frozen=True, eq=False)
class Measured:
    """Estimates of every task of a scenario."""

    scenario_sha256: str
    estimates: Mapping[str, Mapping[str, Estimate]]

    def constants(self, scenario: Scenario, task: str) -> Constants:
        """The constants of a task: measured, but for those that the scenario sets."""
        values: dict[str, Any] = {name: one.value for name, one in self.estimates[task].items()}
        for name in SET_BY_SCENARIO:
            given = getattr(scenario.theory, name)
            if given is not None:
                values[name] = given
        return Constants(**values)

    def plain(self) -> dict[str, Any]:
        """As plain values, for a file."""
        return {
            "schema": SCHEMA,
            "scenario_sha256": self.scenario_sha256,
            "tasks": {
                task: {name: one.plain() for name, one in found.items()}
                for task, found in self.estimates.items()
            },
        }

    @classmethod
    def from_plain(cls, given: Any, source: str) -> Measured:
        """From a file's values, which are checked."""
        if (
            not isinstance(given, dict)
            or given.get("schema") != SCHEMA
            or not isinstance(given.get("tasks"), dict)
        ):
            raise bad_input(
                source,
                f"must be measured constants of schema {SCHEMA}",
                ShownAsIs("something else"),
                "Make it with `dmafl measure`.",
            )
        try:
            estimates = {
                task: {
                    name: Estimate(
                        np.asarray(one["value"]),
                        np.asarray(one["low"]),
                        np.asarray(one["high"]),
                        int(one["samples"]),
                        str(one["method"]),
                    )
                    for name, one in found.items()
                }
                for task, found in given["tasks"].items()
            }
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise bad_input(
                source,
                "must hold value, low, high, samples and method of every constant",
                ShownAsIs(str(error)),
                "Make it with `dmafl measure`.",
            ) from None
        return cls(str(given["scenario_sha256"]), estimates)


def measuring_key(scenario: Scenario, laboratory: Laboratory) -> str:
    """Checksum of all that decides the outcome: fleet size, tasks, seed, data and version; not the radio."""
    tasks = {name: task.model_dump(mode="python") for name, task in scenario.tasks.items()}
    data = [bench.data.sha256 for bench in laboratory.tasks]
    return sha256_of(canonical_json([__version__, scenario.seed, scenario.fleet.devices, tasks, data]))


def measure(
    scenario: Scenario,
    laboratory: Laboratory,
    progress: Callable[[str, str], None] = lambda task, text: None,
    cache: Path | None = None,
) -> Measured:
    """Measure every task, or take it from the cache if the same was measured before."""
    key = measuring_key(scenario, laboratory)
    path = (cache if cache is not None else cache_folder().parent / "measured") / f"{key}.json"
    if path.exists():
        return Measured.from_plain(read_json(path, "measured constants"), str(path))
    estimates = {}
    for number, name in enumerate(scenario.tasks):
        estimates[name] = estimate_task(laboratory, number, partial(progress, name))
    measured = Measured(key, estimates)
    write_json(path, measured.plain())
    return measured
