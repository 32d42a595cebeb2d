"""A point of a sweep as a piece of a campaign: a run in its folder, or only the plan."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dmafl.base.errors import BadInput
from dmafl.base.files import say_once
from dmafl.calibration.measured import Measured
from dmafl.experiments.campaign.scheme_work import SchemeWork
from dmafl.experiments.run.file_names import plan_file
from dmafl.experiments.run.folder import RunFolder
from dmafl.experiments.run.run import Run
from dmafl.experiments.run.statuses import RunStatus
from dmafl.experiments.sweep.outcome import rows_of_plan, rows_of_run
from dmafl.experiments.sweep.point import Point, PointWork
from dmafl.schedule.plan_files import read_plan
from dmafl.simulation.run_name import RunName


@dataclass(frozen=True)
class SweepPiece:
    """A point to be done, and where."""

    point: Point
    work: PointWork
    folder: Path
    measured: Measured | None = None

    @property
    def name(self) -> str:
        """For a person."""
        return self.point.label

    @property
    def key(self) -> str:
        """The name of its folder, which follows from its content."""
        return self.folder.name

    @property
    def goes_on(self) -> bool:
        """Whether it goes on where it was stopped: a plan is made from its start."""
        return not self.work.plan_only

    def is_done(self) -> bool:
        """Whether it is done and its files can be read; a damaged point is put aside and reported."""
        try:
            if self._has_ended():
                self.rows()
                return True
        except BadInput as error:
            aside = self.folder.with_name(f"{self.folder.name}.damaged")
            shutil.rmtree(aside, ignore_errors=True)
            self.folder.rename(aside)
            say_once(f"{error} The point is done again; its old files are in {aside}.")
        return False

    def tidy(self) -> None:
        """Remove what an interruption left in its folder."""
        RunFolder(self.folder).tidy()

    def carry_out(self) -> None:
        """Run or plan it, or go on with it."""
        measured = None if self.measured is None else {self.point.scenario.seed: self.measured}
        if self.work.plan_only:
            self._scheme_work.plan(self.folder, measured or {})
        else:
            self._scheme_work.run(self.folder, measured)

    def rows(self) -> list[dict[str, Any]]:
        """Its outcome, one row per task."""
        plan = read_plan(self.plan_file).plan if self.work.plans else None
        if self.work.plan_only and plan is not None:
            return rows_of_plan(plan)
        return rows_of_run(Run(self.folder), list(self.point.scenario.tasks), plan)

    @property
    def plan_file(self) -> Path:
        """Where its plan is, or will be."""
        return self.folder / plan_file(RunName(self.work.scheme, self.point.seed))

    def _has_ended(self) -> bool:
        if self.work.plan_only:
            return self.plan_file.is_file()
        folder = RunFolder(self.folder)
        return folder.exists() and folder.read_manifest().status is RunStatus.FINISHED

    @cached_property
    def _scheme_work(self) -> SchemeWork:
        work = self.work
        return SchemeWork(
            self.point.scenario,
            self.point.seed,
            work.scheme,
            work.effort,
            work.quality,
            work.dissimilarity,
            None,
            self.point.components,
        )
