"""The run of one scheme and seed as the rules of `verify` see it: its rows, its world, and what the manifest says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dmafl.experiments.run.manifest import OwnParts, SchemeRunRecord
from dmafl.experiments.run.verification.findings import Finding, largest
from dmafl.schedule.plan_files import PlanFile
from dmafl.schemes.registry import NAMES, scheme_named
from dmafl.schemes.scheme import RoundRule, Scheme
from dmafl.simulation.outcome import Absence, DeviceLoss, TaskOutcome
from dmafl.simulation.periods import Metrics, Periods
from dmafl.simulation.run_name import RunName
from dmafl.world.world import World

Array = np.ndarray[Any, Any]
Columns = dict[str, Array]


@dataclass(frozen=True, eq=False)
class SchemeRunRows:
    """The rows of one scheme and seed that can be checked, its world, and what the manifest says of it."""

    scheme: str
    seed: int
    world: World
    record: SchemeRunRecord
    own: OwnParts
    metrics: Metrics
    periods: Periods
    file_rows: dict[str, Array]
    """Table -> the rows of the file that the columns are of."""
    theory: Columns
    """Prediction and bounds computed again, one per row of metrics; empty while the run goes on."""
    plan: PlanFile | None
    test_samples: tuple[int, ...]
    """Test samples that there are of each task."""
    real: bool = False
    """Whether real devices did the work: then times are measured, and energies are what devices have reported."""

    @property
    def run_name(self) -> RunName:
        """Its scheme and seed."""
        return RunName(self.scheme, self.seed)

    @property
    def key(self) -> str:
        """Name of the scheme run in the manifest."""
        return str(self.run_name)

    @property
    def name(self) -> str:
        """Name of the scheme run in messages."""
        return f"{self.scheme}, seed {self.seed}"

    @property
    def known_scheme(self) -> Scheme | None:
        """The scheme, if it is one of ours, whose orders and weights are known; None: the user's own."""
        return known_scheme(self.scheme, self.own)

    @property
    def planned(self) -> bool:
        """Whether it carries out a plan."""
        return self.known_scheme is not None and self.known_scheme.group != "baseline"

    @property
    def round_rule(self) -> RoundRule | None:
        """How several local models make one aggregation in a scheme of ours; None: every arrival makes one."""
        return None if self.known_scheme is None else self.known_scheme.rounds(self.world)

    @property
    def ended(self) -> bool:
        """Whether the manifest says how it ended."""
        return self.record.ended

    @property
    def finished(self) -> bool:
        """Whether it came to its end."""
        return self.record.status.finished

    @property
    def rounds(self) -> bool:
        """Whether several local models may make one aggregation; not known before a scheme of a user's own ends."""
        return not self.record.one_by_one if self.known_scheme is None else self.round_rule is not None

    @property
    def losses(self) -> tuple[DeviceLoss, ...]:
        """Devices that got no more orders of a task; known once the scheme run has ended."""
        return () if self.record.outcome is None else self.record.outcome.lost

    @property
    def absences(self) -> tuple[Absence, ...]:
        """When devices were away; known once the scheme run has ended."""
        return () if self.record.outcome is None else self.record.outcome.absences

    def outcome(self, task: int) -> TaskOutcome:
        """What the manifest says of a task of a scheme run that has ended."""
        if self.record.outcome is None:
            raise LookupError(f"{self.key} has not ended")
        return self.record.outcome.tasks[self.world.task_names[task]]

    @cached_property
    def task(self) -> Array:
        """Number of each period's task."""
        return _numbers(self.periods["task"], self.world.task_names)

    @cached_property
    def metrics_task(self) -> Array:
        """Number of each test's task."""
        return _numbers(self.metrics["task"], self.world.task_names)

    def taken_of_task(self, task: int) -> Array:
        """Whether each period is one of task number `task`, and the server took its upload."""
        return np.asarray((self.task == task) & self.periods.taken)

    def period(self, k: int | np.integer[Any]) -> str:
        """The k-th period in words."""
        return f"{self.name}, periods.parquet row {self.file_rows['periods'][k]}"

    def test(self, k: int | np.integer[Any]) -> str:
        """The k-th test in words."""
        return f"{self.name}, metrics.parquet row {self.file_rows['metrics'][k]}"

    def worst(self, excess: Array, tolerance: Array | float = 0.0) -> Finding:
        """Of numbers of all periods that must be at most `tolerance`."""
        return largest(excess, self.period, tolerance)


def known_scheme(name: str, own: OwnParts) -> Scheme | None:
    """The scheme of ours called `name`; None where it is one of the user's own."""
    return scheme_named(name) if name in NAMES and name not in own.schemes else None


def _numbers(names: Array, known: tuple[str, ...]) -> Array:
    order = {name: j for j, name in enumerate(known)}
    return np.asarray([order[name] for name in names], dtype=np.int64)
