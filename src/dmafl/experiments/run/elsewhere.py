"""Runs of schemes and seeds done elsewhere: each is a piece of work of its own, in the folder of the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from dmafl.base.errors import BadInput, Problem
from dmafl.base.files import locked, read_checked, write_checked
from dmafl.calibration.measured import Measured
from dmafl.experiments.run.folder import RunFolder
from dmafl.experiments.run.here import FolderMeans, run_here
from dmafl.experiments.run.progress import Progress
from dmafl.experiments.run.request import Request
from dmafl.experiments.run.settings import SCHEME_RUNS, Settings
from dmafl.experiments.run.statuses import WAITING, SchemeRunStatus
from dmafl.simulation.outcome import SchemeOutcome
from dmafl.training.workers import Trainers

ENDED = "ended.json"
"""Beside the checkpoint of a run of a scheme and seed: how it ended, until the command has noted it."""


@dataclass(frozen=True)
class SchemeRunPiece:
    """The run of one scheme and seed, and the folder that it writes into."""

    name: str
    request: Request
    path: Path
    for_planning: Mapping[int, Measured]
    files: Mapping[str, str]
    """Checksums of outputs that are there already, e.g. of plans."""
    checkpoint_every_s: float

    @property
    def goes_on(self) -> bool:
        """Whether it goes on where it was stopped."""
        return True

    @property
    def home(self) -> Path:
        """Where its checkpoint is."""
        return RunFolder(self.path).checkpoint(self.name).folder

    def carry_out(self) -> None:
        """Run it, or go on with it, and write how it ended."""
        folder = RunFolder(self.path)
        folder.checksums = dict(self.files)
        request = self.request
        trainers = Trainers(request.scenario, request.components)
        settings = Settings(checkpoint_every_s=self.checkpoint_every_s)
        noted = _Noted()
        # Two machines never do the same: one that was given up for lost may still be at work.
        with locked(self.home):
            (self.home / ENDED).unlink(missing_ok=True)
            means = FolderMeans(request, folder, settings, trainers, self.for_planning)
            failures = run_here(means, noted, [self.name])
            written = {name: sha for name, sha in folder.checksums.items() if self.files.get(name) != sha}
            ended = {
                "status": str(noted.how),
                "outcome": None if noted.outcome is None else noted.outcome.plain(),
                "files": written,
                "problems": [vars(problem) for error in failures for problem in error.problems],
            }
            write_checked(self.home / ENDED, ended)


class _Noted:
    """How the run of a piece ended."""

    def __init__(self) -> None:
        self.how = WAITING
        self.outcome: SchemeOutcome | None = None

    def status(self, name: str) -> SchemeRunStatus:
        """How far it has come."""
        return self.how

    def scheme_run_ended(
        self, name: str, status: SchemeRunStatus, outcome: SchemeOutcome | None = None
    ) -> None:
        """It has ended."""
        self.how, self.outcome = status, outcome

    def note_outputs(self) -> None:
        """Told at the end."""


def run_elsewhere(means: FolderMeans, progress: Progress) -> list[BadInput]:
    """Do all runs that are waiting; returns why some cannot go on."""
    settings, folder, names = means.settings, means.folder, means.request.names
    watcher = settings.watcher
    failures: list[BadInput] = []
    watcher.total(SCHEME_RUNS, len(names), 0)
    for name in names:
        if not progress.status(name).waiting:
            watcher.ended(SCHEME_RUNS, name, progress.status(name).reason)
    pieces = [
        SchemeRunPiece(
            name,
            means.request,
            folder.path,
            means.for_planning,
            progress.manifest.files,
            settings.checkpoint_every_s,
        )
        for name in names
        if progress.status(name).waiting
    ]
    logged = {piece.name: _parts(folder, piece.name) for piece in pieces}

    def ended(piece: SchemeRunPiece, problem: str) -> None:
        if problem:
            failures.append(BadInput(Problem(piece.name, "must come to its end", problem, AGAIN)))
            status, outcome = SchemeRunStatus.failed_for(problem), None
        else:
            status, outcome, files, problems = _how(piece)
            folder.checksums.update(files)
            failures.extend(BadInput(one) for one in problems[:1])
        for tracker in settings.trackers:
            for number in range(logged[piece.name], _parts(folder, piece.name)):
                tracker.log(piece.name, _rows(folder, piece.name, number))
        progress.scheme_run_ended(piece.name, status, outcome)
        watcher.ended(SCHEME_RUNS, piece.name, status.reason)

    settings.on.side_by_side(
        _carry_out,
        pieces,
        settings.at_once,
        ended,
        lambda piece: watcher.begun(SCHEME_RUNS, piece.name),
        folder.path,
    )
    return failures


AGAIN = "Remove the cause, and go on with --resume."


def _carry_out(piece: SchemeRunPiece) -> None:
    """What a process elsewhere does."""
    piece.carry_out()


def _how(
    piece: SchemeRunPiece,
) -> tuple[SchemeRunStatus, SchemeOutcome | None, dict[str, str], list[Problem]]:
    """How a piece says that it ended: status, outcome, checksums of outputs, and why it cannot go on."""
    ended: Any = read_checked(piece.home / ENDED, "end of a run", AGAIN)
    outcome = ended["outcome"]
    return (
        SchemeRunStatus.parse(ended["status"]),
        None if outcome is None else SchemeOutcome.from_plain(outcome),
        ended["files"],
        [Problem(**problem) for problem in ended["problems"]],
    )


def _parts(folder: RunFolder, name: str) -> int:
    """How many parts of its rows a run has written."""
    return len(list((folder.path / "parts" / name).glob("metrics-*.parquet")))


def _rows(folder: RunFolder, name: str, number: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(
        folder.path / "parts" / name / f"metrics-{number:06d}.parquet"
    ).to_pylist()
    return rows
