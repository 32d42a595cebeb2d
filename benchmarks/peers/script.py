"""What the scripts of all libraries share: their options, and the line of JSON that they print."""

from __future__ import annotations

import argparse
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

from measures.stopwatch import Stopwatch
from measures.workload import CLIENTS, Workload


class Options:
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
    """Given the number of completed rounds, it times those after the warm-up."""

    def __init__(self, options: Options, *, family: bool = False) -> None:
        self._options, self._family = options, family
        self._watch: Stopwatch | None = None
        self._spent: dict[str, float] = {}

    def completed(self, rounds: int) -> None:
        """`rounds` rounds are done."""
        if rounds == self._options.warm:
            self._watch = Stopwatch(family=self._family)
        elif rounds == self._options.warm + self._options.rounds and self._watch is not None:
            self._spent = self._watch.read()

    def report(self, package: str, weights: Any, biases: Any) -> None:
        """Print the result."""
        result = {
            "version": version(package),
            "updates": self._options.rounds * CLIENTS,
            "loss": self._options.workload.loss(weights, biases),
            **self._spent,
        }
        print(json.dumps(result), flush=True)
