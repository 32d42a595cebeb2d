"""What the scripts of all libraries share: what they are told, and the one line of JSON that they print."""

from __future__ import annotations

import argparse
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

from measures.stopwatch import Stopwatch
from measures.workload import CLIENTS, Workload


class Told:
    """The data, how many rounds warm the library up, and how many are timed after that."""

    def __init__(self) -> None:
        parser = argparse.ArgumentParser(description="Times rounds of federated averaging.")
        parser.add_argument("--data", type=Path, required=True)
        parser.add_argument("--warm", type=int, required=True)
        parser.add_argument("--rounds", type=int, required=True)
        given = parser.parse_args()
        self.data: Path = given.data
        self.workload = Workload.load(given.data)
        self.warm: int = given.warm
        self.rounds: int = given.rounds


class Timer:
    """Told the number of completed rounds, it times those after the warm-up."""

    def __init__(self, told: Told, *, family: bool = False) -> None:
        self._told, self._family = told, family
        self._watch: Stopwatch | None = None
        self._spent: dict[str, float] = {}

    def completed(self, rounds: int) -> None:
        """`rounds` rounds are done."""
        if rounds == self._told.warm:
            self._watch = Stopwatch(family=self._family)
        elif rounds == self._told.warm + self._told.rounds and self._watch is not None:
            self._spent = self._watch.read()

    def report(self, package: str, weights: Any, biases: Any) -> None:
        """Print the result."""
        result = {
            "version": version(package),
            "updates": self._told.rounds * CLIENTS,
            "loss": self._told.workload.loss(weights, biases),
            **self._spent,
        }
        print(json.dumps(result), flush=True)
