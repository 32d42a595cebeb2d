"""A run as `verify` looks at it: the manifest, the tables cut into units, and what could not be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dmafl.base.errors import BadInput
from dmafl.calibration.measured import Measured
from dmafl.experiments.run.expected_loss import one_by_one, quality
from dmafl.experiments.run.file_names import measured_file, plan_file
from dmafl.experiments.run.folder import TABLES, RunFolder
from dmafl.experiments.run.manifest import Manifest, OwnParts, UnitRecord
from dmafl.experiments.run.verification.findings import Finding, largest, together
from dmafl.experiments.run.verification.rows import Cells, cells_of
from dmafl.scenario.model import Scenario
from dmafl.schedule.plan_files import PlanFile
from dmafl.schemes.registry import NAMES, scheme_named
from dmafl.schemes.scheme import RoundRule, Scheme
from dmafl.simulation.outcome import DeviceLoss, TaskOutcome
from dmafl.simulation.periods import Metrics, Periods
from dmafl.simulation.run_name import RunName
from dmafl.world.world import World

Array = np.ndarray[Any, Any]
Columns = dict[str, Array]


@dataclass(frozen=True, eq=False)
class UnitRows:
    """The rows of one scheme and seed that can be looked at, its world, and what the manifest says of it."""

    scheme: str
    seed: int
    world: World
    record: UnitRecord
    own: OwnParts
    metrics: Metrics
    periods: Periods
    rows: dict[str, Array]
    """Table -> the rows of the file that the columns are of."""
    theory: Columns
    """Prediction and bounds computed again, one per row of metrics; empty while the run goes on."""
    plan: PlanFile | None
    test_samples: tuple[int, ...]
    """Test samples that there are of each task."""

    @property
    def run_name(self) -> RunName:
        """Its scheme and seed."""
        return RunName(self.scheme, self.seed)

    @property
    def key(self) -> str:
        """Name of the unit in the manifest."""
        return str(self.run_name)

    @property
    def name(self) -> str:
        """Name of the unit in messages."""
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
        """Devices that got no more orders of a task; known once the unit has ended."""
        return () if self.record.outcome is None else self.record.outcome.lost

    def outcome(self, task: int) -> TaskOutcome:
        """What the manifest says of a task of a unit that has ended."""
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
        return f"{self.name}, periods.parquet row {self.rows['periods'][k]}"

    def test(self, k: int | np.integer[Any]) -> str:
        """The k-th test in words."""
        return f"{self.name}, metrics.parquet row {self.rows['metrics'][k]}"

    def worst(self, excess: Array, tolerance: Array | float = 0.0) -> Finding:
        """Of numbers of all periods that must be at most `tolerance`."""
        return largest(excess, self.period, tolerance)


@dataclass(frozen=True, eq=False)
class Opened:
    """A run, with everything that its files hold."""

    folder: RunFolder
    manifest: Manifest
    scenario: Scenario
    worlds: dict[int, World]
    tables: dict[str, pa.Table]
    """Those that could be read; empty ones in place of the others."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """Name of an output -> why it could not be read."""

    @classmethod
    def of(cls, path: Path) -> Opened:
        """Read the run in `path`; only a manifest that cannot be read is refused."""
        folder = RunFolder(path)
        manifest = folder.read_manifest()
        source = str(folder.manifest_path)
        scenario = manifest.read_scenario(source)
        worlds = {seed: manifest.world(seed, source) for seed in manifest.seeds}
        opened = cls(folder, manifest, scenario, worlds, {})
        parts = folder.parts()  # once: a run that goes on writes more of them between two tables
        for name, schema in TABLES.items():
            table = opened.read(f"{name}.parquet", partial(folder.read_table, name, parts))
            opened.tables[name] = schema.empty_table() if table is None else table
        return opened

    def read(self, name: str, reader: Callable[[], Any]) -> Any:
        """What `reader` gives, or None and a note why not."""
        try:
            return reader()
        except BadInput as error:
            problem = error.problems[0]
            self.unreadable[name] = f"{problem.rule}; got {problem.value}"
        except OSError as error:
            self.unreadable[name] = error.strerror or str(error)
        return None

    @property
    def ended(self) -> bool:
        """Whether all units have ended, well or not."""
        return self.manifest.status.ended

    @property
    def path(self) -> Path:
        """The folder."""
        return self.folder.path

    @cached_property
    def cells(self) -> dict[str, Cells]:
        """Of each table: its columns, which rows can be looked at, and what is wrong with the others."""
        return {
            name: cells_of(name, table, self.manifest, self.worlds) for name, table in self.tables.items()
        }

    @cached_property
    def measured(self) -> dict[int, Measured]:
        """Seed -> measured constants, of those that could be read."""
        readable: dict[int, Measured] = {}
        for seed, checksum in self.manifest.measured.items():
            of_seed = self.read(measured_file(seed), partial(self.folder.read_measured, {seed: checksum}))
            if of_seed is not None:
                readable |= of_seed
        return readable

    @cached_property
    def plans(self) -> dict[str, PlanFile]:
        """Name -> plan, of those that there must be and that could be read."""
        readable = {}
        for name in self.plan_names:
            file = self.read(plan_file(name), partial(self.folder.read_plan, name))
            if file is not None:
                readable[name] = file
        return readable

    @property
    def plan_names(self) -> dict[str, RunName]:
        """Plans that there must be by now, each with the run that carries it out."""
        names = {}
        for run_name in self.manifest.run_names:
            scheme = known_scheme(run_name.scheme, self.manifest.own)
            begun = self.manifest.unit(run_name).outcome is not None
            if begun and scheme is not None and scheme.group != "baseline":
                names[scheme.plan_name(run_name.seed)] = run_name
        return names

    @cached_property
    def units(self) -> tuple[UnitRows, ...]:
        """All units with their rows."""
        return tuple(self._units())

    def each(self, find: Callable[[UnitRows], Finding]) -> Finding:
        """What a rule finds in all units together."""
        return together(find(unit) for unit in self.units)

    def _units(self) -> Iterator[UnitRows]:
        theory = self._theory()
        plan_of = {run_name: self.plans.get(name) for name, run_name in self.plan_names.items()}
        for run_name in self.manifest.run_names:
            rows = {table: cells.of(run_name) for table, cells in self.cells.items()}
            yield UnitRows(
                run_name.scheme,
                run_name.seed,
                self.worlds[run_name.seed],
                self.manifest.unit(run_name),
                self.manifest.own,
                Metrics(self.cells["metrics"].columns).where(rows["metrics"]),
                Periods(self.cells["periods"].columns).where(rows["periods"]),
                rows,
                {name: values[rows["metrics"]] for name, values in theory.items()},
                plan_of.get(run_name),
                tuple(self.manifest.data[task].test_samples for task in self.scenario.tasks),
            )

    def _theory(self) -> Columns:
        """Prediction and bounds of all rows of metrics, computed again from rows that can be looked at."""
        if not self.ended:
            return {}
        usable = {
            name: self.tables[name].filter(pa.array(cells.usable)) for name, cells in self.cells.items()
        }
        again = quality(
            usable["metrics"],
            usable["periods"],
            one_by_one(self.manifest),
            lambda seed: self.worlds[seed],
            self.measured,
        )
        out = {}
        for name, values in again.items():
            out[name] = np.full(self.tables["metrics"].num_rows, np.nan)
            out[name][self.cells["metrics"].usable] = values
        return out


def known_scheme(name: str, own: OwnParts) -> Scheme | None:
    """The scheme of ours called `name`; None where it is one of the user's own."""
    return scheme_named(name) if name in NAMES and name not in own.schemes else None


def _numbers(names: Array, known: tuple[str, ...]) -> Array:
    order = {name: j for j, name in enumerate(known)}
    return np.asarray([order[name] for name in names], dtype=np.int64)
