"""The result of a measurement: constants, labels and a calibrated prediction of every task; stored as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from dmafl.base.errors import BadInput, Problem, ShownAsIs, bad_input
from dmafl.base.files import read_json, write_json
from dmafl.base.showing import Rows, html_of, line
from dmafl.base.showing import names as shown_names
from dmafl.base.version import __version__
from dmafl.calibration.estimate import REMEDY, Estimate, array, check_entries, duration_s, whole
from dmafl.calibration.gram import gram_of_labels
from dmafl.scenario.model import Scenario
from dmafl.theory.calibrated import Calibration
from dmafl.theory.calibration_files import calibration_from_plain, plain_calibration
from dmafl.theory.constants import PER_DEVICE, Constants
from dmafl.theory.label_mix import LabelMix

SCHEMA = 4
READ = (3, SCHEMA)
"""Schemas that are read; files of schema 3 know no accuracies."""
SET_BY_SCENARIO = ("gradient_bound", "regularised_gradient_bound", "weak_convexity")
"""Constants that the scenario's section `theory` may set; the measured value is kept beside them."""
CONSTANTS = tuple(field.name for field in fields(Constants) if field.name != "factors")
_OPTIONAL = ("local_smoothness",)
_KINDS = ("a number", "one number for each device", "one number for each pair of devices")


@dataclass(frozen=True)
class Cost:
    """CPU time and number of probes that measuring a task took, also if that was earlier."""

    constants_s: float = 0.0
    """CPU time of the constants [s]."""
    probes: int = 0
    diverged: int = 0
    """Probes whose numbers were not finite; the calibration does not use them."""
    slots: int = 0
    """Aggregations of a probe."""
    warm_up_slots: int = 0
    """Aggregations before the probes, once."""
    probes_s: float = 0.0
    """CPU time of probes and warm-up [s]."""

    @classmethod
    def from_plain(cls, given: Any, source: str) -> Cost:
        """From a file's values, which are checked."""
        names = tuple(field.name for field in fields(cls))
        check_entries(given, names, source)
        values: dict[str, Any] = {
            name: (duration_s if name.endswith("_s") else whole)(given[name], f"{source}.{name}")
            for name in names
        }
        return cls(**values)


@dataclass(frozen=True, eq=False, repr=False)
class MeasuredTask:
    """One task: its constants, the labels its devices hold, and the prediction fitted to probes."""

    estimates: Mapping[str, Estimate]
    labels: LabelMix | None
    calibration: Calibration | None
    """None where no probes were asked for, or too few of them stayed finite."""
    cost: Cost
    data: str | None = None
    """SHA-256 of the samples that were measured; None in files from before it was kept."""

    @property
    def constants(self) -> Constants:
        """The constants as they were measured."""
        return Constants(**{name: estimate.value for name, estimate in self.estimates.items()})

    def __repr__(self) -> str:
        fitted = "no prediction" if self.calibration is None else "a prediction of the loss"
        return line("MeasuredTask", f"{self.constants.devices} devices", f"{self.cost.probes} probes", fitted)

    def plain(self) -> dict[str, Any]:
        """As plain values, for a file."""
        labels, calibration = self.labels, self.calibration
        return {
            "estimates": {name: estimate.plain() for name, estimate in self.estimates.items()},
            "labels": None
            if labels is None
            else {"held": labels.held.tolist(), "asked": labels.asked.tolist()},
            "calibration": None if calibration is None else plain_calibration(calibration),
            "cost": asdict(self.cost),
        } | ({} if self.data is None else {"data": self.data})

    @classmethod
    def from_plain(cls, given: Any, source: str) -> MeasuredTask:
        """From a file's values, which are checked; `source` names the entry in errors."""
        names = ("estimates", "labels", "calibration", "cost")
        known = isinstance(given, Mapping) and "data" in given
        check_entries(given, (*names, "data") if known else names, source)
        data = given["data"] if known else None
        if known and not isinstance(data, str):
            raise bad_input(f"{source}.data", "must be a checksum", data, REMEDY)
        labels, calibration = given["labels"], given["calibration"]
        measured = cls(
            estimates_from_plain(given["estimates"], f"{source}.estimates"),
            None if labels is None else labels_from_plain(labels, f"{source}.labels"),
            None if calibration is None else calibration_from_plain(calibration, f"{source}.calibration"),
            Cost.from_plain(given["cost"], f"{source}.cost"),
            data,
        )
        devices = measured.constants.devices
        if measured.labels is not None and len(measured.labels.held) != devices:
            rule = f"must have one row for each of the {devices} devices"
            raise bad_input(f"{source}.labels.held", rule, len(measured.labels.held), REMEDY)
        return measured


@dataclass(frozen=True, eq=False, repr=False)
class Measured:
    """What was measured of every task of a scenario."""

    key: str
    """Checksum of everything that the measurement depends on."""
    tasks: Mapping[str, MeasuredTask]

    def table(self) -> Rows:
        """One row per task: its constants that are one number, and how many probes its prediction is fitted to."""
        rows = []
        for name, task in self.tasks.items():
            constants = task.constants
            single = {key: getattr(constants, key) for key in CONSTANTS if key not in (*PER_DEVICE, "gram")}
            numbers = {key: float(value) for key, value in single.items() if value is not None}
            of_probes = {"probes": task.cost.probes, "diverged": task.cost.diverged}
            rows.append({"task": name, "devices": constants.devices} | numbers | of_probes)
        return Rows.of("Measured constants", rows)

    def _in_short(self) -> str:
        probes = sum(task.cost.probes for task in self.tasks.values())
        seconds = sum(task.cost.constants_s + task.cost.probes_s for task in self.tasks.values())
        return f"{shown_names(list(self.tasks), 8)}, {probes} probes, {seconds:.3g} s of computing"

    def __repr__(self) -> str:
        return line("Measured", self._in_short())

    def _repr_html_(self) -> str:
        return html_of(f"Measured: {self._in_short()}", self.table())

    def constants(self, scenario: Scenario, task: str) -> Constants:
        """The constants of a task: measured, except those that the scenario sets."""
        measured = self.of(task).constants
        if measured.devices != scenario.fleet.devices:
            rule = f"must be for the scenario's {scenario.fleet.devices} devices"
            raise bad_input("measured constants", rule, measured.devices, "Measure this scenario.")
        given: dict[str, Any] = {name: getattr(scenario.theory, name) for name in SET_BY_SCENARIO}
        for phase in ("idle", "active"):
            per_s = getattr(scenario.tasks[task].drift, f"{phase}_per_s")
            if per_s is not None:
                even = np.full(measured.devices, float(per_s))
                given |= {f"drift_{phase}": even, f"drift_{phase}_size": even}
        return replace(measured, **{name: value for name, value in given.items() if value is not None})

    def prediction_constants(self, scenario: Scenario, task: str) -> Constants:
        """The same, with Gamma from labels where there are any, as the calibration is fitted."""
        return for_prediction(self.constants(scenario, task), self.of(task).labels)

    def of(self, task: str) -> MeasuredTask:
        """What was measured of the task called `task`."""
        if task not in self.tasks:
            rule = f"must be one of those measured, {', '.join(self.tasks)}"
            raise bad_input("task", rule, task, "Measure the scenario that has this task.")
        return self.tasks[task]

    def plain(self) -> dict[str, Any]:
        """As plain values, for a file."""
        tasks = {name: task.plain() for name, task in self.tasks.items()}
        return {"schema": SCHEMA, "version": __version__, "key": self.key, "tasks": tasks}

    @classmethod
    def from_plain(cls, given: Any, source: str = "measured.json") -> Measured:
        """From a file's values, which are checked."""
        schema = given.get("schema") if isinstance(given, Mapping) else None
        if schema not in READ:
            value = ShownAsIs(f"schema {schema}" if schema is not None else "something else")
            raise bad_input(
                source, f"must be measured constants of schema {READ[0]} or {SCHEMA}", value, REMEDY
            )
        check_entries(given, ("schema", "version", "key", "tasks"), source)
        if not isinstance(given["key"], str):
            raise bad_input(f"{source}: key", "must be text", given["key"], REMEDY)
        if not isinstance(given["tasks"], Mapping) or not given["tasks"]:
            raise bad_input(f"{source}: tasks", "must hold at least one task", given["tasks"], REMEDY)
        tasks = {
            name: MeasuredTask.from_plain(task, f"{source}: tasks.{name}")
            for name, task in given["tasks"].items()
        }
        return cls(given["key"], tasks)


def for_prediction(constants: Constants, labels: LabelMix | None) -> Constants:
    """Constants as the prediction needs them: with Gamma from labels where there are any."""
    return constants if labels is None else replace(constants, gram=gram_of_labels(labels.held))


def read_measured(path: str | Path) -> Measured:
    """What `write_measured` wrote to `path`, checked."""
    return Measured.from_plain(read_json(Path(path), "measured constants"), str(path))


def write_measured(measured: Measured, path: str | Path) -> None:
    """Write everything to `path` as JSON, whole or not at all."""
    write_json(Path(path), measured.plain())


def estimates_from_plain(given: Any, source: str) -> dict[str, Estimate]:
    """The estimates of a task from a file's values: every constant, each of the right shape."""
    names = tuple(name for name in CONSTANTS if name not in _OPTIONAL)
    if isinstance(given, Mapping):
        names += tuple(name for name in _OPTIONAL if name in given)
    check_entries(given, names, source)
    estimates = {name: Estimate.from_plain(entry, f"{source}.{name}") for name, entry in given.items()}
    for name, estimate in estimates.items():
        dimensions = 2 if name == "gram" else 1 if name in PER_DEVICE else 0
        if np.ndim(estimate.value) != dimensions or np.size(estimate.value) == 0:
            rule = f"must be {_KINDS[dimensions]}"
            raise bad_input(f"{source}.{name}.value", rule, given[name]["value"], REMEDY)
    with _blamed_on(source, "constants."):
        Constants(**{name: estimate.value for name, estimate in estimates.items()})
    return estimates


def labels_from_plain(given: Any, source: str) -> LabelMix:
    """The labels of a task from a file's values."""
    check_entries(given, ("held", "asked"), source)
    held, asked = (array(given[name], f"{source}.{name}") for name in ("held", "asked"))
    with _blamed_on(source, "labels."):
        return LabelMix(held, asked)


@contextmanager
def _blamed_on(source: str, prefix: str) -> Iterator[None]:
    """Name the file's entry in errors about values that were read from it."""
    try:
        yield
    except BadInput as error:
        problem = error.problems[0]
        name = f"{source}.{problem.name.removeprefix(prefix)}"
        raise BadInput(Problem(name, problem.rule, problem.value, REMEDY)) from None
