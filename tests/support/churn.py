"""Small worlds whose devices leave and return."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dmafl.scenario.model import Scenario
from support.small_runs import scenario

RANDOM: Mapping[str, Any] = {"kind": "random", "mean_on_s": 0.2, "mean_off_s": 0.1}
"""A job of the small worlds takes about 0.05 s, so that devices leave after a few."""


@dataclass(frozen=True)
class Times:
    """Devices that are there at the times of a list; those that have none are always there."""

    of_device: Mapping[int, Sequence[tuple[float, float]]]

    def stretches(self, device: int, until_s: float) -> Iterable[tuple[float, float]]:
        return self.of_device.get(device, [(0.0, until_s)])


def restless(number: int) -> Scenario:
    """A small scenario whose devices come and go, by chance, by the time of day, or hardly ever."""
    rng = np.random.default_rng(number)

    def pick(*decisions: Any) -> Any:
        return decisions[int(rng.integers(len(decisions)))]

    def task() -> dict[str, Any]:
        return {
            "slots": int(rng.integers(1, 14)),
            "cycles_per_sample": pick(1e5, 3e6, 1e7),
            "max_staleness": int(rng.integers(0, 4)),
            "window_s": pick(20.0, 0.2, 1.0, 5.0),
            "bits_per_parameter": pick(32.0, 1.0, 1e4),
            "idle_max_s": pick(0.0, 0.05, 1.0),
        }

    availability = pick(
        {
            "kind": "random",
            "mean_on_s": pick(0.03, 0.2, 2.0, {"uniform": [0.05, 1.0]}),
            "mean_off_s": pick(0.02, 0.1, 2.0),
        },
        {
            "kind": "daily",
            "day_s": pick(0.3, 2.0),
            "from_h": pick(0.0, 20.0),
            "to_h": pick(4.0, 16.0),
            "start_h": pick(0.0, 22.0),
            "shift_h": {"uniform": [0.0, 12.0]},
        },
    )
    return scenario(
        {name: task() for name in ("a", "b")[: rng.integers(1, 3)]},
        devices=int(rng.integers(1, 6)),
        seed=int(rng.integers(100)),
        availability=availability,
        channel={"radio": pick("own", "shared"), "kind": pick("rayleigh", "fixed")},
        mobility={"kind": pick("static", "waypoint")},
        fleet={"battery_J": pick(1e9, 2e-2, 2e-3)},
        evaluation={"every": int(rng.integers(1, 5)), "at_s": pick([], [0.1, 1.0]), "samples": 20},
        schemes={"buffer_size": int(rng.integers(1, 4)), "partial_arrivals": pick(None, 1, 2, 7)},
    )
