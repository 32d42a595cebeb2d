"""A run of the study as a piece of a campaign: plan if need be, train, keep a few numbers."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from dmafl.base.version import __version__
from dmafl.calibration.measured import Measured, read_measured
from dmafl.experiments.campaign.scheme_work import SchemeWork
from dmafl.experiments.reproduction.outcome_content import data_checksums, tasks_of_plan, tasks_of_run
from dmafl.experiments.reproduction.results import Results
from dmafl.experiments.reproduction.study_run import StudyRun

CHECKPOINT_EVERY_S = 60.0


@dataclass(frozen=True)
class StudyPiece:
    """A run of the study to be carried out, and where."""

    study_run: StudyRun
    key: str
    results: Path
    work: Path
    """Holds one folder for each run under way, named by its key."""
    tuning_seed: int
    measured: Path | None
    """Constants of the tuning seed, where the run plans."""
    data_dir: Path | None

    @property
    def name(self) -> str:
        """For a person."""
        return self.study_run.name

    @property
    def goes_on(self) -> bool:
        """Whether it goes on where it was stopped: a plan is made from its start."""
        return self.study_run.trained

    def is_done(self) -> bool:
        """Whether its outcome is kept; a damaged one counts as none, and is reported."""
        return Results(self.results).find(self.key, self.study_run) is not None

    def tidy(self) -> None:
        """Remove the folder that is left when the study was stopped right after the outcome was kept."""
        shutil.rmtree(self.work / self.key, ignore_errors=True)

    def carry_out(self) -> None:
        """Run it in a folder of its own, or go on there, keep its outcome, and remove the folder."""
        study_run, folder = self.study_run, self.work / self.key
        work = SchemeWork(
            study_run.scenario(),
            study_run.seed,
            study_run.scheme,
            study_run.effort,
            study_run.quality,
            study_run.dissimilarity,
            self.data_dir,
            gradient_norms=False,  # no outcome holds them
        )
        if study_run.trained:
            run = work.run(folder, self._constants(), CHECKPOINT_EVERY_S)
            tasks = tasks_of_run(run, study_run.seed)
            about = {"versions": dict(run.manifest.versions), "data": data_checksums(run)}
        else:
            tasks = tasks_of_plan(work.plan(folder, self._constants()))
            about = {"versions": {"dmafl": __version__}}
        Results(self.results).write(self.key, study_run, tasks, about)
        self.tidy()

    def _constants(self) -> dict[int, Measured]:
        return {} if self.measured is None else {self.tuning_seed: read_measured(self.measured)}
