"""A run as `verify` sees it: the manifest, the tables by scheme run, and what could not be read."""

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
from dmafl.experiments.run.manifest import Manifest
from dmafl.experiments.run.verification.findings import Finding, together
from dmafl.experiments.run.verification.rows import Cells, cells_of
from dmafl.experiments.run.verification.scheme_run_rows import Columns, SchemeRunRows, known_scheme
from dmafl.scenario.model import Scenario
from dmafl.schedule.plan_files import PlanFile
from dmafl.simulation.periods import Metrics, Periods
from dmafl.simulation.run_name import RunName
from dmafl.world.world import World


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
        """Whether all scheme runs have ended, well or not."""
        return self.manifest.status.ended

    @property
    def path(self) -> Path:
        """The folder."""
        return self.folder.path

    @cached_property
    def cells(self) -> dict[str, Cells]:
        """Of each table: its columns, which rows can be checked, and what is wrong with the others."""
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
            begun = self.manifest.scheme_run(run_name).outcome is not None
            if begun and scheme is not None and scheme.group != "baseline":
                names[scheme.plan_name(run_name.seed)] = run_name
        return names

    @cached_property
    def scheme_runs(self) -> tuple[SchemeRunRows, ...]:
        """All scheme runs with their rows."""
        return tuple(self._scheme_runs())

    def each(self, find: Callable[[SchemeRunRows], Finding]) -> Finding:
        """What a rule finds in all scheme runs together."""
        return together(find(rows) for rows in self.scheme_runs)

    def _scheme_runs(self) -> Iterator[SchemeRunRows]:
        theory = self._theory()
        plan_of = {run_name: self.plans.get(name) for name, run_name in self.plan_names.items()}
        for run_name in self.manifest.run_names:
            rows = {table: cells.of(run_name) for table, cells in self.cells.items()}
            yield SchemeRunRows(
                run_name.scheme,
                run_name.seed,
                self.worlds[run_name.seed],
                self.manifest.scheme_run(run_name),
                self.manifest.own,
                Metrics(self.cells["metrics"].columns).where(rows["metrics"]),
                Periods(self.cells["periods"].columns).where(rows["periods"]),
                rows,
                {name: values[rows["metrics"]] for name, values in theory.items()},
                plan_of.get(run_name),
                tuple(self.manifest.data[task].test_samples for task in self.scenario.tasks),
                self.manifest.real,
            )

    def _theory(self) -> Columns:
        """Prediction and bounds of all rows of metrics, computed again from rows that can be checked."""
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
